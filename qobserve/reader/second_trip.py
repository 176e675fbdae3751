"""The second round trip for a group of queues: planned, packed into one batch, and understood queue by queue."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from qobserve.model.snapshot import Problem, QueueSnapshot
from qobserve.reader.details import DetailPlan
from qobserve.reader.questions import QUESTIONS

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
    """

    def __init__(
        self, looks: Sequence[FirstLook], last: Mapping[QueueId, LastTime], budget: Budget, events: EventBudget
    ) -> None:
        self._plans: list[tuple[FirstLook, DetailPlan, list[bytes]]] = []
        self.failed: list[QueueSnapshot] = []
        for look in looks:
            try:
                plan = _plan(look, last.get(look.queue), budget)
                self._plans.append((look, plan, plan.tail_command(events)))
            except Exception as exc:  # noqa: BLE001 - what we do not understand of one queue must not hide the others
                self.failed.append(_not_understood(look.queue, exc))
        self.batch = b"".join([part for _, plan, tail in self._plans for part in (plan.commands, *tail)])
        self.expected = sum(plan.expected + len(tail) for _, plan, tail in self._plans)

    def read(self, replies: Sequence[Reply], now_ms: int) -> list[tuple[FirstLook, DetailPlan, Details]]:
        """Understand the replies to `batch`."""
        understood: list[tuple[FirstLook, DetailPlan, Details]] = []
        start = 0
        for look, plan, tail in self._plans:
            stop = start + plan.expected
            try:
                details = plan.details(replies[start:stop], replies[stop] if tail else None, now_ms)
                understood.append((look, plan, details))
            except Exception as exc:  # noqa: BLE001 - as above
                self.failed.append(_not_understood(look.queue, exc))
            start = stop + len(tail)
        return understood


def _plan(look: FirstLook, last: LastTime | None, budget: Budget) -> DetailPlan:
    if last is not None and look.unchanged and last.plan.is_current(look.memory):
        return last.plan
    return DetailPlan(look.queue, look.answers, look.heads, look.memory, budget)


def _not_understood(queue: QueueId, exc: Exception) -> QueueSnapshot:
    """A queue of which nothing is told, for every collector's knowledge."""
    LOG.debug("a queue was not understood", extra={"queue": str(queue), "error": repr(exc)}, exc_info=exc)
    parts = dict.fromkeys(question.part for question in QUESTIONS.values())
    what = f"{queue} was not understood: {exc!r}; please report it"
    return QueueSnapshot(
        queue=queue, jobs={}, problems=tuple(Problem(part=part, queue=queue, what=what) for part in parts)
    )
