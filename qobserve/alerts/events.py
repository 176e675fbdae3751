"""Events that the exporter could not read: counters and durations are then not the whole truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import duration, increase, plain, select
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_QUEUE, TIME, VALUE
from qobserve.metrics import events

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms


def group(terms: Terms) -> Group:
    """Missed ones are gone; unread ones may still be read."""
    options = terms.options
    return Group(
        name="qobserve-events",
        rules=(
            Alert(
                name="BullMQEventsMissed",
                severity=Severity.WARNING,
                board=Board.QUEUE,
                expr=f"{increase(terms, events.MISSED, options.counted_window)} > 0",
                summary=f"Events of queue {OF_QUEUE} were missed.",
                description=f"About {VALUE} events were trimmed from the stream in the last "
                f"{duration(options.counted_window)} before they could be read; counters may be too low, and durations "
                "are of fewer jobs.",
            ),
            Alert(
                name="BullMQEventsLagging",
                severity=Severity.WARNING,
                board=Board.QUEUE,
                expr=f"{select(terms, events.LAG)} > {plain(options.lag)}",
                hold=options.lag_for,
                summary=f"Events of queue {OF_QUEUE} are read late.",
                description=f"There have been unread events for {TIME}; counters and durations stand still meanwhile.",
            ),
        ),
    )
