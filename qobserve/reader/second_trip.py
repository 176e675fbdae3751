"""The second round trip for a group of queues: planned, packed into one batch, and understood queue by queue."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from qobserve.model.snapshot import Problem, QueueSnapshot
from qobserve.reader.details import DetailPlan
from qobserve.reader.levels import levels_stirred
from qobserve.reader.questions import QUESTIONS
from qobserve.reader.quiet import late_batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Details
    from qobserve.model.reply import Reply
    from qobserve.reader.budget import Budget, EventBudget
    from qobserve.reader.first_trip import FirstLook
    from qobserve.reader.last_time import LastTime

LOG = logging.getLogger("qobserve.reader")


class SecondTrip:
    """What is asked about a group of queues.

    Args:
        looks: The queues after the first round trip.
        last: What they came to last time; where nothing has changed that a plan depends on, it serves again.
        budget: How much may be read of each.
        events: How much may be read of their event streams together.
        now_ms: The server's clock.
    """

    def __init__(
        self,
        looks: Sequence[FirstLook],
        last: Mapping[QueueId, LastTime],
        budget: Budget,
        events: EventBudget,
        now_ms: int,
    ) -> None:
        self._plans: list[tuple[FirstLook, DetailPlan, list[bytes]]] = []
        self.failed: list[QueueSnapshot] = []
        self._now_ms = now_ms
        for look in looks:
            try:
                plan = _plan(look, last.get(look.queue), budget, now_ms)
                self._plans.append((look, plan, plan.stream_commands(events)))
            except Exception as exc:  # noqa: BLE001 - what we do not understand of one queue must not hide the others
                self.failed.append(_not_understood(look.queue, exc))
        self.batch = b"".join(
            [
                part
                for look, plan, stream in self._plans
                for part in (late_batch(look.queue, look.late, budget.windows), plan.commands, *stream)
            ]
        )
        self.expected = sum(len(look.late) + plan.expected + len(stream) for look, plan, stream in self._plans)

    def read(self, replies: Sequence[Reply]) -> list[tuple[FirstLook, DetailPlan, Details]]:
        """Understand the replies to `batch`."""
        understood: list[tuple[FirstLook, DetailPlan, Details]] = []
        start = 0
        for look, plan, stream in self._plans:
            look.complete(replies[start : start + len(look.late)])
            start += len(look.late)
            middle = start + plan.expected
            stop = middle + len(stream)
            try:
                details = plan.details(replies[start:middle], replies[middle:stop], look.answers.events, self._now_ms)
                understood.append((look, plan, details))
            except Exception as exc:  # noqa: BLE001 - as above
                self.failed.append(_not_understood(look.queue, exc))
            start = stop
        return understood


def _plan(look: FirstLook, last: LastTime | None, budget: Budget, now_ms: int) -> DetailPlan:
    if last is not None and look.unchanged and last.plan.is_current(look.memory, now_ms):
        return last.plan
    stirred = last is None or levels_stirred(look.raw, last.raw)
    return DetailPlan(
        look.queue, look.answers, look.heads, look.memory, budget, now_ms, stirred=stirred, woken=bool(look.late)
    )


def _not_understood(queue: QueueId, exc: Exception) -> QueueSnapshot:
    """A queue of which nothing is told, for every collector's knowledge."""
    LOG.debug("a queue was not understood", extra={"queue": str(queue), "error": repr(exc)}, exc_info=exc)
    parts = dict.fromkeys(question.part for question in QUESTIONS.values())
    what = f"{queue} was not understood: {exc!r}; please report it"
    return QueueSnapshot(
        queue=queue, jobs={}, problems=tuple(Problem(part=part, queue=queue, what=what) for part in parts)
    )
