"""Queues that somebody paused, and forgot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import duration, lines, select
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_QUEUE, VALUE
from qobserve.alerts.workers import BACKLOG
from qobserve.metrics import depth, limits

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms


def group(terms: Terms) -> Group:
    """Also with no jobs: the next one that is added waits."""
    return Group(
        name="qobserve-pauses",
        rules=(
            Alert(
                name="BullMQQueuePaused",
                severity=Severity.WARNING,
                board=Board.QUEUE,
                expr=lines(
                    f"sum without (state) ({select(terms, depth.JOBS, state=BACKLOG)})",
                    f"and {select(terms, limits.PAUSED)} == 1",
                ),
                hold=terms.options.paused_for,
                summary=f"Queue {OF_QUEUE} has been paused for long.",
                description=f"It has been paused for more than {duration(terms.options.paused_for)}; {VALUE} jobs "
                "wait, and their age alerts nobody meanwhile.",
            ),
        ),
    )
