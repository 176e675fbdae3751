"""Second round trip, schedulers: whether one whose next run is past has come to its end, by a limit or an end date.

BullMQ leaves those that have ended in the set, at its beginning. Where they fill the window, the next scrape begins
behind them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.reply import strings
from qobserve.model.schedulers import END_FIELDS, PENDING_FIELDS, end_ms, going_on, has_ended, parse_schedulers
from qobserve.reader.connection import pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Answers
    from qobserve.model.reply import Reply
    from qobserve.model.snapshot import Scheduler
    from qobserve.reader.memory import QueueMemory
    from qobserve.reader.questions import Windows

_LATE_MS = 1000


class SchedulerPlan:
    """Asks for the ends of those schedulers whose next run is past.

    Args:
        queue: Which one.
        answers: What the first round trip told.
        memory: What is known from before; `read` brings it up to date.
        windows: How many schedulers are looked at.
        now_ms: The server's clock.
    """

    def __init__(self, queue: QueueId, answers: Answers, memory: QueueMemory, windows: Windows, now_ms: int) -> None:
        self._all = parse_schedulers(answers.schedulers_first)
        self._scores = strings(answers.schedulers_first)[1::2]
        self._fills = len(self._scores) >= windows.schedulers
        self._late = {name: next_ms for name, next_ms in self._all.items() if now_ms - next_ms > _LATE_MS}
        self._next_ms = min((next_ms for name, next_ms in self._all.items() if name not in self._late), default=None)
        self._memory = memory
        self._now_ms = now_ms
        self._end_ms: int | None = None
        key = queue.key
        self.commands = [
            *(pack(b"HMGET", key(b"repeat:" + name), *END_FIELDS) for name in self._late),
            *(pack(b"HMGET", key(b"repeat:%b:%d" % late), *PENDING_FIELDS) for late in self._late.items()),
        ]

    def is_current(self, now_ms: int) -> bool:
        """Whether no other scheduler's next run, and no end date, has passed since."""
        due = self._next_ms is not None and now_ms - self._next_ms > _LATE_MS
        return not due and (self._end_ms is None or now_ms <= self._end_ms)

    def read(self, replies: Sequence[Reply]) -> tuple[Scheduler, ...]:
        """The schedulers that go on, in the order of their next runs."""
        ends = dict(zip(self._late, replies, strict=False))
        jobs = dict(zip(self._late, replies[len(self._late) :], strict=True))
        known = (end_ms(name, end) for name, end in ends.items())
        self._end_ms = min((end for end in known if end is not None and end >= self._now_ms), default=None)
        ended = {
            name
            for name, next_ms in self._late.items()
            if has_ended(name, next_ms, ends[name], jobs[name], self._now_ms)
        }
        self._skip([name in ended for name in self._all])
        return tuple(going_on(self._all, ended, ends))

    def _skip(self, ended: Sequence[bool]) -> None:
        """Begin behind those at the window's beginning that have ended, from the next scrape on."""
        if not self._fills or len(ended) != len(self._scores):
            return
        leading = self._scores[: ended.index(False) if False in ended else len(ended)]
        behind = [score for score in leading if score != self._scores[-1]]  # more may have the same as the last one
        if behind:
            self._memory.ended_score = behind[-1]
