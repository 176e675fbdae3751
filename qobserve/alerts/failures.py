"""Jobs that fail for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import duration, increase, lines, plain
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_QUEUE, SHARE
from qobserve.metrics import throughput

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms


def group(terms: Terms) -> Group:
    """The share of those that ended; of few jobs a share says nothing."""
    options = terms.options
    failed = increase(terms, throughput.FAILED, options.failure_window)
    ended = lines("(", f"  {failed}", f"  + {increase(terms, throughput.COMPLETED, options.failure_window)}", ")")
    return Group(
        name="qobserve-failures",
        rules=(
            Alert(
                name="BullMQFailureRatioHigh",
                severity=Severity.CRITICAL,
                board=Board.QUEUE,
                expr=lines(
                    failed,
                    f"/ {ended} > {plain(options.failure_ratio)}",
                    f"and {ended} >= {plain(options.failure_minimum_jobs)}",
                ),
                hold=options.failure_for,
                summary=f"Many jobs of queue {OF_QUEUE} fail for good.",
                description=f"{SHARE} of the jobs that ended in the last {duration(options.failure_window)} failed "
                "with no attempt left; what they were to do is not done.",
            ),
        ),
    )
