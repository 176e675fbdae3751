"""What was to happen at a certain time and did not: delayed jobs and schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.age import WAIT
from qobserve.alerts.promql import lines, plain, select
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_QUEUE, TIME
from qobserve.metrics import age, limits, schedulers
from qobserve.model.blocked import Reason

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms


def group(terms: Terms) -> Group:
    """A due job that is still delayed is a job that waits, but none that is ready: the age of those does not show it.

    For the schedulers the exporter's own judgement counts too: it knows which have come to their end.
    """
    options = terms.options
    paused = f"{select(terms, limits.PAUSED)} == 1"
    late = select(terms, limits.BLOCKED, reason=Reason.SCHEDULER_OVERDUE)
    return Group(
        name="qobserve-overdue",
        rules=(
            Alert(
                name="BullMQDelayedJobsOverdue",
                severity=Severity.CRITICAL,
                board=Board.QUEUE,
                expr=lines(
                    f"{select(terms, age.OVERDUE)} > clamp_min({WAIT}, {plain(options.overdue_least)})",
                    f"unless {paused}",
                ),
                hold=options.overdue_for,
                summary=f"Delayed jobs of queue {OF_QUEUE} are not started when they are due.",
                description=f"The first delayed job has been due for {TIME} and no worker has taken it up.",
            ),
            Alert(
                name="BullMQSchedulerOverdue",
                severity=Severity.WARNING,
                board=Board.QUEUE,
                expr=lines(
                    f"time() - {select(terms, schedulers.NEXT_RUN)} > {plain(options.scheduler_overdue)}",
                    f"and ignoring (scheduler, reason) {late} == 1",
                    f"unless ignoring (scheduler) {paused}",
                ),
                hold=options.scheduler_for,
                summary=f"Scheduler {{{{ $labels.scheduler }}}} of queue {OF_QUEUE} is overdue.",
                description=f"Its next job should have run {TIME} ago; until it does no further one is made.",
            ),
        ),
    )
