"""Second round trip, ages: when the jobs that could be the oldest became ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qobserve.model.events import entry_bytes, last_entry
from qobserve.model.job import TIME_FIELDS, ReadyAt, job_times, ready_at
from qobserve.reader.candidates import prioritized_candidates, waiting_candidates
from qobserve.reader.connection import pack
from qobserve.reader.stream import absorb, event_of, forget_the_past, stream_commands

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
        self._queue = queue
        self._kept = budget.events_kept
        self._witness = memory.witness if memory.witness and _hides_jobs(answers, budget) else None
        self.jobs = dict.fromkeys([*self.waiting, *self.prioritized, *([self._witness[0]] if self._witness else [])])
        self._stream = answers.events
        self._last_entry = last_entry(answers.events)
        self.commands = [pack(b"HMGET", queue.key(job), *TIME_FIELDS) for job in self.jobs]

    @property
    def settled(self) -> bool:
        """Whether everything that the stream could tell is known."""
        if self._last_entry is None:
            return True
        return self._memory.cursor == self._last_entry and self._memory.asked.keys() >= self.jobs.keys()

    def is_current(self) -> bool:
        """Whether the same answers would lead to this plan again."""
        witness = self._memory.witness
        return self.settled and (witness is None or witness[0] in self.jobs)

    def stream_commands(self, events: EventBudget) -> list[bytes]:
        """The questions for the stream, if it can tell more and the budget allows."""
        if self._last_entry is None or self.settled:
            return []
        count = events.take(entry_bytes(self._stream))
        return stream_commands(self._queue, self._memory, self._last_entry, count) if count else []

    def read(self, hashes: Sequence[Reply], stream: Sequence[Reply], now_ms: int) -> tuple[Ages, bool]:
        """The ages, and whether the same replies come to the same later; remembers what the next scrape needs.

        Args:
            hashes: Replies to `commands`.
            stream: Replies to `stream_commands`.
            now_ms: The server's clock.
        """
        times = {job: _times(reply) for job, reply in zip(self.jobs, hashes, strict=True)}
        forget_the_past(self._memory, times)
        last = self._last_entry
        up_to_date = bool(stream) and last is not None and absorb(self._memory, stream, last, self._kept)
        if up_to_date:
            self._memory.asked = times
        ready = {job: self._ready(job, known, now_ms, up_to_date=up_to_date) for job, known in times.items()}
        since = {job: moment for job, moment in ready.items() if moment is not None}
        oldest = _oldest(since, [*self.waiting, *self._still_waiting(times)])
        first = _oldest(since, self.prioritized)
        self._memory.witness = None if oldest is None else (oldest, times[oldest])
        ages = Ages(None if oldest is None else since[oldest], None if first is None else since[first])
        return ages, all(moment is not None or times[job].timestamp is None for job, moment in ready.items())

    def _ready(self, job: bytes, times: JobTimes, now_ms: int, *, up_to_date: bool) -> ReadyAt | None:
        ms = event_of(self._memory, job, times, up_to_date=up_to_date)
        return ready_at(times, now_ms) if ms is None else ReadyAt(ms=ms, source="event", exact=True)

    def _still_waiting(self, times: Mapping[bytes, JobTimes]) -> list[bytes]:
        """Last time's oldest job, if it is out of sight and its hash has not changed since."""
        if self._witness is None or self._witness[0] in self.waiting:
            return []
        job, before = self._witness
        return [job] if before.timestamp is not None and times[job] == before else []


def _hides_jobs(answers: Answers, budget: Budget) -> bool:
    """Whether `wait` or the `paused` list holds more than the window shows."""
    shown = len(answers.wait_tail) if isinstance(answers.wait_tail, list) else 0
    waiting, paused = answers.wait_length, answers.paused_tail
    return (isinstance(waiting, int) and waiting > shown > 0) or (
        isinstance(paused, list) and len(paused) >= budget.windows.jobs
    )


def _times(reply: Reply) -> JobTimes:
    """A job's times; nothing known of a job whose hash is gone or is none."""
    fields = reply if isinstance(reply, list) and len(reply) == len(TIME_FIELDS) else [None] * len(TIME_FIELDS)
    return job_times([field if isinstance(field, bytes) else None for field in fields])


def _oldest(since: Mapping[bytes, ReadyAt], jobs: Iterable[bytes]) -> bytes | None:
    return min((job for job in jobs if job in since), key=lambda job: since[job].ms, default=None)
