"""How many jobs there are: left out unless asked for, as a length says little about how long anybody waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import duration, plain, select
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_QUEUE, VALUE
from qobserve.metrics import depth
from qobserve.model.states import State

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms


def group(terms: Terms) -> Group:
    """No alerts unless they are turned on."""
    return Group(name="qobserve-length", rules=_alerts(terms) if terms.options.with_length_alerts else ())


def _alerts(terms: Terms) -> tuple[Alert, ...]:
    options = terms.options
    return (
        Alert(
            name="BullMQBacklogLong",
            severity=Severity.INFO,
            board=Board.QUEUE,
            expr=f"{select(terms, depth.READY)} > {plain(options.backlog_length)}",
            hold=options.length_for,
            summary=f"Queue {OF_QUEUE} has a long backlog.",
            description=f"{VALUE} jobs have been ready to run for {duration(options.length_for)}.",
        ),
        Alert(
            name="BullMQFailedJobsMany",
            severity=Severity.INFO,
            board=Board.QUEUE,
            expr=f"{select(terms, depth.JOBS, state=State.FAILED)} > {plain(options.failed_length)}",
            hold=options.length_for,
            summary=f"Queue {OF_QUEUE} keeps many failed jobs.",
            description=f"{VALUE} failed jobs are kept.",
        ),
    )
