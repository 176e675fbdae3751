"""What a person reads when an alert fires, and the links that it comes with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.rule import Board

if TYPE_CHECKING:
    from qobserve.alerts.options import AlertOptions
    from qobserve.alerts.rule import Alert

_OF_QUEUE = "var-prefix={{ $labels.prefix | urlquery }}&var-queue={{ $labels.queue | urlquery }}"
_OF_TARGET = "{{ with $labels.bullmq_target }}&var-target={{ . | urlquery }}{{ end }}"


def annotated(alert: Alert, options: AlertOptions) -> dict[str, str]:
    """The texts by their names, in the order in which they are read."""
    return {
        "summary": alert.summary,
        "description": alert.description,
        "runbook_url": f"{options.runbook_base_url.rstrip('/')}/{alert.name}.md",
        "dashboard_url": f"{options.dashboard_base_url.rstrip('/')}/d/{alert.board}{_variables(alert.board)}",
    }


def _variables(board: Board) -> str:
    """The variables of the dashboard; what is left out keeps its default."""
    return f"?{_OF_QUEUE}{_OF_TARGET}" if board is Board.QUEUE else ""
