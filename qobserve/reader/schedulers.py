"""Second round trip, schedulers: whether one whose next run is past has come to its end, by a limit or an end date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.schedulers import END_FIELDS, end_ms, going_on, parse_schedulers
from qobserve.reader.connection import pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Answers
    from qobserve.model.reply import Reply
    from qobserve.model.snapshot import Scheduler

_LATE_MS = 1000


class SchedulerPlan:
    """Asks for the ends of those schedulers whose next run is past."""

    def __init__(self, queue: QueueId, answers: Answers, now_ms: int) -> None:
        self._all = parse_schedulers(answers.schedulers_first)
        self._late = [name for name, next_ms in self._all.items() if now_ms - next_ms > _LATE_MS]
        others = [next_ms for name, next_ms in self._all.items() if name not in self._late]
        self._next_ms = min(others, default=None)
        self._now_ms = now_ms
        self._end_ms: int | None = None
        self.commands = [pack(b"HMGET", queue.key(b"repeat:" + name), *END_FIELDS) for name in self._late]

    def is_current(self, now_ms: int) -> bool:
        """Whether no other scheduler's next run, and no end date, has passed since."""
        due = self._next_ms is not None and now_ms - self._next_ms > _LATE_MS
        return not due and (self._end_ms is None or now_ms <= self._end_ms)

    def read(self, replies: Sequence[Reply]) -> tuple[Scheduler, ...]:
        """The schedulers that go on, in the order of their next runs."""
        ends = dict(zip(self._late, replies, strict=True))
        known = (end_ms(name, end) for name, end in ends.items())
        self._end_ms = min((end for end in known if end is not None and end >= self._now_ms), default=None)
        return going_on(self._all, ends, self._now_ms)
