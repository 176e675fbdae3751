"""Failed jobs that nobody looks after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import plain, select
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_QUEUE, TIME
from qobserve.metrics import age
from qobserve.model.states import State

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms


def group(terms: Terms) -> Group:
    """By age, not by number: a hundred failures of today are being worked on, one of last week is forgotten."""
    options = terms.options
    return Group(
        name="qobserve-dead-letters",
        rules=(
            Alert(
                name="BullMQFailedJobsOld",
                severity=Severity.INFO,
                board=Board.QUEUE,
                expr=f"{select(terms, age.OLDEST, state=State.FAILED)} > {plain(options.dead_letter_age)}",
                hold=options.dead_letter_for,
                summary=f"Failed jobs of queue {OF_QUEUE} are left lying.",
                description=f"The oldest failed job that is kept failed {TIME} ago; nobody has retried or removed it.",
            ),
        ),
    )
