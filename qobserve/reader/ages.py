"""Second round trip, ages: when the jobs that could be the oldest became ready."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qobserve.model.events import entry_bytes, entry_id, is_gap, last_entry
from qobserve.model.job import TIME_FIELDS, JobTimes, ReadyAt, job_times, ready_at
from qobserve.reader.budget import FIRST_READ
from qobserve.reader.candidates import prioritized_candidates, waiting_candidates
from qobserve.reader.connection import pack
from qobserve.reader.levels import is_deep
from qobserve.reader.memory import ReadyEvent
from qobserve.reader.stream import absorb, event_of, forget_the_past, forget_unproven, stream_commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

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
        woken: Whether only the first of the stream's new entries is known so far.
    """

    def __init__(  # noqa: PLR0913 - a plan is made of all that is known of a queue
        self,
        queue: QueueId,
        answers: Answers,
        heads: Iterable[bytes],
        memory: QueueMemory,
        budget: Budget,
        *,
        woken: bool = False,
    ) -> None:
        self.waiting = waiting_candidates(answers, budget)
        self.prioritized = prioritized_candidates(answers, heads, budget)
        self._memory = memory
        self._queue = queue
        self._kept = budget.events_kept
        self._witness = memory.witness if memory.witness and _hides_jobs(answers, budget) else None
        self._urgent_witness = memory.urgent_witness if memory.urgent_witness and is_deep(answers) else None
        witnesses = [witness[0] for witness in (self._witness, self._urgent_witness) if witness]
        self.jobs = dict.fromkeys([*self.waiting, *self.prioritized, *witnesses])
        self._stream = answers.events
        self._last_entry = last_entry(answers.events)
        self._asked_for = 0
        self._woken = woken
        self.commands = [pack(b"HMGET", queue.key(job), *TIME_FIELDS) for job in self.jobs]

    @property
    def settled(self) -> bool:
        """Whether everything that the stream could tell is known."""
        if self._last_entry is None:
            return True
        known = self._memory.cursor == self._last_entry and not self._memory.shallow
        return known and self._memory.asked.keys() >= self.jobs.keys()

    def is_current(self) -> bool:
        """Whether the same answers would lead to this plan again."""
        witnesses = (self._memory.witness, self._memory.urgent_witness)
        return self.settled and all(witness is None or witness[0] in self.jobs for witness in witnesses)

    def stream_commands(self, events: EventBudget) -> list[bytes]:
        """The questions for the stream, if it can tell more and the budget allows."""
        if self._last_entry is None or self.settled or self._follower_knows_all():
            return []
        known = self._memory.entry_bytes
        size = max(entry_bytes(self._stream), known or 0)
        self._asked_for = events.take(size) if known is not None else events.take(size, FIRST_READ)
        if not self._asked_for:
            return []
        return stream_commands(self._queue, self._memory, self._last_entry, self._asked_for)

    def read(self, hashes: Sequence[Reply], stream: Sequence[Reply], facts: Reply, now_ms: int) -> tuple[Ages, bool]:
        """The ages, and whether the same replies come to the same later; remembers what the next scrape needs.

        Args:
            hashes: Replies to `commands`.
            stream: Replies to `stream_commands`.
            facts: What is known of the stream by now (XINFO STREAM's reply).
            now_ms: The server's clock.
        """
        times = {job: _times(reply) for job, reply in zip(self.jobs, hashes, strict=True)}
        forget_the_past(self._memory, times)
        if self._memory.cursor is not None and is_gap(facts, self._memory.cursor):
            forget_unproven(self._memory)
        if self._woken:
            self._last_entry = last_entry(facts) or self._last_entry
        last = self._last_entry
        shallow = not self._memory.entry_bytes and self._may_hold_more(stream)
        up_to_date = bool(stream) and last is not None and absorb(self._memory, stream, last, self._kept)
        jumps = not stream and self._follower_knows_all()
        if jumps:
            forget_unproven(self._memory)
        if up_to_date or jumps:
            self._memory.asked, self._memory.cursor = times, self._memory.cursor if up_to_date else last
            self._memory.shallow = shallow and up_to_date
        ready = {job: self._ready(job, known, now_ms, up_to_date=up_to_date) for job, known in times.items()}
        since = {job: moment for job, moment in ready.items() if moment is not None}
        oldest = _oldest(since, [*self.waiting, *_still_there(self._witness, times, JobTimes.__eq__)])
        first = _oldest(since, [*self.prioritized, *_still_there(self._urgent_witness, times, _still_urgent)])
        self._memory.witness = None if oldest is None else (oldest, times[oldest])
        self._memory.urgent_witness = None if first is None else (first, times[first])
        ages = Ages(None if oldest is None else since[oldest], None if first is None else since[first])
        return ages, all(moment is not None or times[job].timestamp is None for job, moment in ready.items())

    def _ready(self, job: bytes, times: JobTimes, now_ms: int, *, up_to_date: bool) -> ReadyAt | None:
        ms = event_of(self._memory, job, times, up_to_date=up_to_date)
        if ms is None and (ms := self._followed_ms(job)) is not None:
            self._memory.events[job] = ReadyEvent(ms, times)
        return ready_at(times, now_ms) if ms is None else ReadyAt(ms=ms, source="event", exact=True)

    def _followed_ms(self, job: bytes) -> int | None:
        """When the job became ready, if the follower has seen it and all that came after."""
        followed, last = self._memory.followed, self._last_entry
        if followed is None or last is None or followed.taken_to(self._queue) < entry_id(last):
            return None
        return followed.ready_ms(self._queue, job)

    def _follower_knows_all(self) -> bool:
        return bool(self.jobs) and not self._woken and all(self._followed_ms(job) is not None for job in self.jobs)

    def _may_hold_more(self, stream: Sequence[Reply]) -> bool:
        """Whether the stream has more entries than were asked for."""
        return any(isinstance(piece, list) and len(piece) >= self._asked_for for piece in stream)


def _still_there(
    witness: tuple[bytes, JobTimes] | None,
    times: Mapping[bytes, JobTimes],
    same: Callable[[JobTimes, JobTimes], bool],
) -> list[bytes]:
    """Last time's oldest job, which may be out of sight now, if its hash has not changed since."""
    if witness is None:
        return []
    job, before = witness
    return [job] if before.timestamp is not None and same(times[job], before) else []


def _still_urgent(now: JobTimes, before: JobTimes) -> bool:
    """Whether a job is still among the prioritized ones; without a priority it would be in `wait`."""
    return now == before or (now.priority > 0 and now.same_wait(before))


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
