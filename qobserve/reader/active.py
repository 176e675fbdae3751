"""Second round trip, active jobs: when the longest-running one started, and whether living workers hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qobserve.model.job import milliseconds_field
from qobserve.model.layout import LOCKS_LATE
from qobserve.model.reply import strings
from qobserve.reader.candidates import active_candidates
from qobserve.reader.connection import pack
from qobserve.reader.questions import ACTIVE_WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Answers
    from qobserve.model.reply import Reply
    from qobserve.reader.budget import Budget
    from qobserve.reader.memory import QueueMemory

_NO_KEY = -2
_SETTLED_MS = 2000
"""A job that started later may have moved between two of our commands: nothing is concluded about its lock."""


class Actives(NamedTuple):
    """When the longest-running job started, and how many of the jobs looked at have lost their lock (None: unknown)."""

    since_ms: int | None
    unlocked: int | None


class ActivePlan:
    """The commands about one queue's active jobs, and what their replies mean."""

    def __init__(self, queue: QueueId, answers: Answers, memory: QueueMemory, budget: Budget) -> None:
        self.jobs = active_candidates(answers, budget)
        self._queue = queue
        self._memory = memory

    def commands(self) -> list[bytes]:
        """Locks, then the list once more, then the start of each job: in this order a job that moves is noticed."""
        if not self.jobs:
            return []
        key = self._queue.key
        return [
            *(pack(b"PTTL", key(job + b":lock")) for job in self.jobs),
            pack(b"LRANGE", key(b"active"), b"%d" % -ACTIVE_WINDOW, b"-1"),
            *(pack(b"HGET", key(job), b"processedOn") for job in self.jobs),
        ]

    def read(self, take: Iterator[Reply], now_ms: int, layout: str) -> Actives:
        """Take the replies to `commands`."""
        if not self.jobs:
            self._memory.unlocked = {}
            return Actives(since_ms=None, unlocked=0)
        locks = [next(take) for _ in self.jobs]
        active = set(strings(next(take)))
        started = [milliseconds_field(next(take)) for _ in self.jobs]
        known = not any(not isinstance(lock, int) for lock in locks)
        unlocked = {
            job: start
            for job, lock, start in zip(self.jobs, locks, started, strict=True)
            if lock == _NO_KEY and job in active and start is not None and now_ms - start > _SETTLED_MS
        }
        before, self._memory.unlocked = self._memory.unlocked, unlocked
        if layout in LOCKS_LATE:
            unlocked = {job: start for job, start in unlocked.items() if before.get(job) == start}
        since = min((start for start in started if start is not None), default=None)
        return Actives(since_ms=since, unlocked=len(unlocked) if known else None)
