"""Jobs that lost their worker: stalled, or left behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import duration, increase, select
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_QUEUE, VALUE
from qobserve.metrics import limits, throughput

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms


def group(terms: Terms) -> Group:
    """A stall is a job that was taken from its worker; one left behind is a job that nobody takes."""
    options = terms.options
    return Group(
        name="qobserve-stalls",
        rules=(
            Alert(
                name="BullMQJobsStalled",
                severity=Severity.WARNING,
                board=Board.QUEUE,
                expr=f"{increase(terms, throughput.STALLED, options.counted_window)} > 0",
                summary=f"Jobs of queue {OF_QUEUE} stall.",
                description=f"About {VALUE} in the last {duration(options.counted_window)}: jobs were taken from "
                "workers that no longer held their locks. What such a job does may have been done twice.",
            ),
            Alert(
                name="BullMQJobsAbandoned",
                severity=Severity.WARNING,
                board=Board.QUEUE,
                expr=f"{select(terms, limits.UNLOCKED)} > 0",
                hold=options.abandoned_for,
                summary=f"Active jobs of queue {OF_QUEUE} have no worker.",
                description=f"{VALUE} active jobs are held by no living worker, and for "
                f"{duration(options.abandoned_for)} nobody has put them back.",
            ),
        ),
    )
