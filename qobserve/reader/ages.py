"""Second round trip, ages: when the jobs that could be the oldest became ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qobserve.model.events import ready_events
from qobserve.model.job import TIME_FIELDS, ReadyAt, job_times, ready_at
from qobserve.reader.candidates import prioritized_candidates, waiting_candidates
from qobserve.reader.connection import pack
from qobserve.reader.memory import ReadyEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from qobserve.model.events import StreamFacts
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
        self._queue = queue
        self._memory = memory
        self._witness = memory.witness[0] if memory.witness and self.waiting else None
        self._jobs = list(dict.fromkeys([*self.waiting, *self.prioritized, *filter(None, [self._witness])]))
        self._tail = 0

    def ask_stream(self, stream: StreamFacts | None, events: EventBudget) -> None:
        """Have the stream's tail read too, if there is a job for which it was not asked yet and the budget allows."""
        if stream and stream.retained and not self._memory.asked.keys() >= set(self._jobs):
            self._tail = events.take(stream.entry_bytes)

    def commands(self) -> list[bytes]:
        """The jobs' hashes, then the stream's tail."""
        batch = [pack(b"HMGET", self._queue.key(job), *TIME_FIELDS) for job in self._jobs]
        if self._tail:
            batch.append(pack(b"XREVRANGE", self._queue.key(b"events"), b"+", b"-", b"COUNT", b"%d" % self._tail))
        return batch

    def read(self, take: Iterator[Reply], now_ms: int) -> Ages:
        """Take the replies to `commands`, and remember what the next scrape needs."""
        hashes = [next(take) for _ in self._jobs]
        times = {job: _times(reply) for job, reply in zip(self._jobs, hashes, strict=True)}
        events = ready_events(next(take), times.keys()) if self._tail else {}
        self._remember(times, events)
        since = {job: ready for job, known in times.items() if (ready := self._ready(job, known, now_ms)) is not None}
        oldest = _oldest(since, [*self.waiting, *self._still_waiting(times)])
        self._memory.witness = None if oldest is None else (oldest, times[oldest].processed_on)
        first = _oldest(since, self.prioritized)
        return Ages(None if oldest is None else since[oldest], None if first is None else since[first])

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

    def _remember(self, times: Mapping[bytes, JobTimes], found: Mapping[bytes, int]) -> None:
        """Keep events and questions of jobs that still matter and have not run since."""
        ran = {job: known.processed_on for job, known in times.items()}
        memory = self._memory
        if self._tail:
            memory.asked = ran
        else:
            memory.asked = {job: then for job, then in memory.asked.items() if job in ran and ran[job] == then}
        kept = {job: event for job, event in memory.events.items() if job in ran and ran[job] == event.processed_on}
        memory.events = kept | {job: ReadyEvent(ms, ran[job]) for job, ms in found.items()}


def _times(reply: Reply) -> JobTimes:
    """A job's times; nothing known of a job whose hash is gone or is none."""
    fields = reply if isinstance(reply, list) and len(reply) == len(TIME_FIELDS) else [None] * len(TIME_FIELDS)
    return job_times([field if isinstance(field, bytes) else None for field in fields])


def _oldest(since: Mapping[bytes, ReadyAt], jobs: Iterable[bytes]) -> bytes | None:
    return min((job for job in jobs if job in since), key=lambda job: since[job].ms, default=None)
