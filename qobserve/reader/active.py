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
    from collections.abc import Sequence

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
        self._memory = memory
        self._known = isinstance(answers.active_tail, list)
        self.lock_commands = [pack(b"PTTL", queue.key(job + b":lock")) for job in self.jobs]
        self.commands = _commands(queue, self.jobs, self.lock_commands) if self.jobs else []

    def read(self, replies: Sequence[Reply], now_ms: int, layout: str) -> Actives:
        """Understand the replies to `commands`."""
        count = len(self.jobs)
        if not count:
            self._memory.unlocked = {}
            return Actives(since_ms=None, unlocked=0 if self._known else None)
        locks, started = replies[:count], [milliseconds_field(reply) for reply in replies[count + 1 :]]
        since = min((start for start in started if start is not None), default=None)
        before, self._memory.unlocked = self._memory.unlocked, {}
        if any(not isinstance(lock, int) for lock in locks):
            return Actives(since_ms=since, unlocked=None)
        if _NO_KEY not in locks:
            return Actives(since_ms=since, unlocked=0)
        active = set(strings(replies[count]))
        unlocked = {
            job: start
            for job, lock, start in zip(self.jobs, locks, started, strict=True)
            if lock == _NO_KEY and job in active and start is not None and now_ms - start > _SETTLED_MS
        }
        self._memory.unlocked = unlocked
        if layout in LOCKS_LATE:
            unlocked = {job: start for job, start in unlocked.items() if before.get(job) == start}
        return Actives(since_ms=since, unlocked=len(unlocked))


def _commands(queue: QueueId, jobs: Sequence[bytes], locks: Sequence[bytes]) -> list[bytes]:
    """Locks, then the list once more, then the start of each job: in this order a job that moves is noticed."""
    key = queue.key
    return [
        *locks,
        pack(b"LRANGE", key(b"active"), b"%d" % -ACTIVE_WINDOW, b"-1"),
        *(pack(b"HGET", key(job), b"processedOn") for job in jobs),
    ]
