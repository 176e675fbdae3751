"""What comes with an alert."""

from __future__ import annotations

from qobserve.alerts.annotations import annotated
from qobserve.alerts.options import AlertOptions
from qobserve.alerts.rule import Alert, Board, Severity


def alert(board: Board) -> Alert:
    return Alert(name="Some", severity=Severity.INFO, board=board, expr="vector(1)", summary="s", description="d")


def test_links_start_at_the_addresses_with_or_without_a_slash_at_the_end() -> None:
    for slash in ("", "/"):
        options = AlertOptions(
            runbook_base_url=f"https://wiki/books{slash}", dashboard_base_url=f"https://grafana/sub{slash}"
        )
        assert annotated(alert(Board.OVERVIEW), options) == {
            "summary": "s",
            "description": "d",
            "runbook_url": "https://wiki/books/Some.md",
            "dashboard_url": "https://grafana/sub/d/qobserve-overview",
        }


def test_a_queue_is_filled_into_the_variables_of_its_dashboard() -> None:
    url = annotated(alert(Board.QUEUE), AlertOptions())["dashboard_url"]
    assert url == (
        "http://localhost:3000/d/qobserve-queue"
        "?var-prefix={{ $labels.prefix | urlquery }}&var-queue={{ $labels.queue | urlquery }}"
        "{{ with $labels.bullmq_target }}&var-target={{ . | urlquery }}{{ end }}"
    )
