"""Second round trip, ages: when the jobs that could be the oldest became ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qobserve.model.events import entry_bytes, ready_events
from qobserve.model.job import TIME_FIELDS, ReadyAt, job_times, ready_at
from qobserve.reader.candidates import prioritized_candidates, waiting_candidates
from qobserve.reader.connection import pack
from qobserve.reader.memory import ReadyEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from qobserve.model.job import JobTimes
    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Answers
    from qobserve.model.reply import Reply
    from qobserve.reader.budget import Budget, EventBudget
    from qobserve.reader.memory import QueueMemory


class Ages(NamedTuple):
    """The oldest job of `wait` and the `paused` list, and of `prioritized`; None for none that is known."""

    waiting: ReadyAt | None
    prioritized: ReadyAt | None


class AgePlan:
    """The commands about one queue, and what their replies mean together with what is remembered.

    Args:
        queue: Which one.
        answers: What the first round trip told.
        heads: First jobs of the priority levels beyond the window.
        memory: What is known from before; `read` brings it up to date.
        budget: How many hashes may be read.
    """

    def __init__(
        self, queue: QueueId, answers: Answers, heads: Iterable[bytes], memory: QueueMemory, budget: Budget
    ) -> None:
        self.waiting = waiting_candidates(answers, budget)
        self.prioritized = prioritized_candidates(answers, heads, budget)
        self._memory = memory
        self._witness = memory.witness[0] if memory.witness and self.waiting else None
        self.jobs = dict.fromkeys([*self.waiting, *self.prioritized, *filter(None, [self._witness])])
        self._events_key = queue.key(b"events")
        self._stream = answers.events if isinstance(answers.events, list) else None
        self.commands = [pack(b"HMGET", queue.key(job), *TIME_FIELDS) for job in self.jobs]

    @property
    def settled(self) -> bool:
        """Whether everything that the stream's tail could tell has been asked."""
        return self._stream is None or self._memory.asked.keys() >= self.jobs.keys()

    def tail_command(self, events: EventBudget) -> list[bytes]:
        """The question for the stream's tail, if it can tell more and the budget allows."""
        if self.settled:
            return []
        count = events.take(entry_bytes(self._stream))
        return [pack(b"XREVRANGE", self._events_key, b"+", b"-", b"COUNT", b"%d" % count)] if count else []

    def read(self, hashes: Sequence[Reply], tail: Reply, now_ms: int) -> tuple[Ages, bool]:
        """The ages, and whether the same replies come to the same later; remembers what the next scrape needs.

        Args:
            hashes: Replies to `commands`.
            tail: Reply to `tail_command`; None where it was not asked.
            now_ms: The server's clock.
        """
        times = {job: _times(reply) for job, reply in zip(self.jobs, hashes, strict=True)}
        self._remember(times, tail)
        ready = {job: self._ready(job, known, now_ms) for job, known in times.items()}
        since = {job: moment for job, moment in ready.items() if moment is not None}
        oldest = _oldest(since, [*self.waiting, *self._still_waiting(times)])
        first = _oldest(since, self.prioritized)
        self._memory.witness = None if oldest is None else (oldest, times[oldest].processed_on)
        ages = Ages(None if oldest is None else since[oldest], None if first is None else since[first])
        return ages, all(moment is not None or times[job].timestamp is None for job, moment in ready.items())

    def _ready(self, job: bytes, times: JobTimes, now_ms: int) -> ReadyAt | None:
        event = self._memory.events.get(job)
        if event is not None:
            return ReadyAt(ms=event.ms, source="event", exact=True)
        return ready_at(times, now_ms)

    def _still_waiting(self, times: Mapping[bytes, JobTimes]) -> list[bytes]:
        """Last time's oldest job, unless it is in sight anyway, has run since, or has lost its hash."""
        if self._memory.witness is None or self._witness is None or self._witness in self.waiting:
            return []
        now, before = times[self._witness], self._memory.witness[1]
        return [self._witness] if now.timestamp is not None and now.processed_on == before else []

    def _remember(self, times: Mapping[bytes, JobTimes], tail: Reply) -> None:
        """Keep events and questions of jobs that still matter and have not run since."""
        memory = self._memory
        ran = {job: known.processed_on for job, known in times.items()}
        kept = {job: event for job, event in memory.events.items() if job in ran and ran[job] == event.processed_on}
        if isinstance(tail, list):
            memory.asked = ran
            kept |= {job: ReadyEvent(ms, ran[job]) for job, ms in ready_events(tail, ran.keys()).items()}
        else:
            memory.asked = {job: then for job, then in memory.asked.items() if job in ran and ran[job] == then}
        memory.events = kept


def _times(reply: Reply) -> JobTimes:
    """A job's times; nothing known of a job whose hash is gone or is none."""
    fields = reply if isinstance(reply, list) and len(reply) == len(TIME_FIELDS) else [None] * len(TIME_FIELDS)
    return job_times([field if isinstance(field, bytes) else None for field in fields])


def _oldest(since: Mapping[bytes, ReadyAt], jobs: Iterable[bytes]) -> bytes | None:
    return min((job for job in jobs if job in since), key=lambda job: since[job].ms, default=None)
