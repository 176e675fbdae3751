"""Links: between the dashboards, to the runbooks, and to Bull Board, whose addresses are known only at the export.

A definition writes `runbook:Alert` and `bull-board:/queue/...`; `resolved` makes addresses of them, and leaves out
those to a place that nobody told it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

RUNBOOK = "runbook:"
BULL_BOARD = "bull-board:"

CHOSEN = "${datasource:queryparam}&${job:queryparam}&${target:queryparam}&${__url_time_range}"
"""What every link inside Grafana takes along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the links lead that leave Grafana; None leaves them out."""

    runbooks: str | None = None
    bull_board: str | None = None


def opens(title: str, url: str) -> dict[str, Json]:
    """A link that opens from a value; one that leaves Grafana opens a tab."""
    return {"title": title, "url": url, "targetBlank": not url.startswith("/")}


def away(title: str, url: str, tooltip: str) -> dict[str, Json]:
    """A link at the top of a dashboard or panel; it opens a tab."""
    return {
        "title": title,
        "type": "link",
        "icon": "external link",
        "tooltip": tooltip,
        "url": url,
        "tags": [],
        "asDropdown": False,
        "targetBlank": True,
        "includeVars": False,
        "keepTime": False,
    }


def to_queue(prefix: str, queue: str) -> str:
    """The dashboard of one queue; the arguments are Grafana's expressions for its names."""
    return f"/d/qobserve-queue/bullmq-queue?{CHOSEN}&var-prefix={prefix}&var-queue={queue}"


def to_bull_board(queue: str) -> str:
    """A queue's page in Bull Board."""
    return f"{BULL_BOARD}/queue/{queue}"


def to_runbook(alert: str = "") -> str:
    """The page about an alert, or the folder of all of them."""
    return RUNBOOK + alert


FROM_SERIES = (
    opens(
        "Queue ${__field.labels.queue}",
        to_queue("${__field.labels.prefix:percentencode}", "${__field.labels.queue:percentencode}"),
    ),
    opens("Bull Board", to_bull_board("${__field.labels.queue:percentencode}")),
)
"""What opens from a line or bar of a queue."""
FROM_ROW = (
    opens(
        "Queue ${__data.fields.Queue}",
        to_queue("${__data.fields.Prefix:percentencode}", "${__data.fields.Queue:percentencode}"),
    ),
    opens("Bull Board", to_bull_board("${__data.fields.Queue:percentencode}")),
)
"""What opens from a row of a queue."""


def resolved(value: Json, places: Places) -> Json:
    """The same with addresses in place of what the definitions wrote; links to unknown places are gone."""
    if isinstance(value, dict):
        return {key: resolved(inner, places) for key, inner in value.items()}
    if isinstance(value, list):
        return [resolved(inner, places) for inner in value if not _leads_nowhere(inner, places)]
    return _address(value, places) if isinstance(value, str) else value


def _leads_nowhere(value: Json, places: Places) -> bool:
    url = value.get("url") if isinstance(value, dict) else None
    return isinstance(url, str) and _address(url, places) is None


def _address(text: str, places: Places) -> str | None:
    if text.startswith(RUNBOOK):
        return _runbook(text.removeprefix(RUNBOOK), places)
    if text.startswith(BULL_BOARD):
        return None if places.bull_board is None else places.bull_board.rstrip("/") + text.removeprefix(BULL_BOARD)
    return text


def _runbook(alert: str, places: Places) -> str | None:
    if places.runbooks is None:
        return None
    folder = places.runbooks.rstrip("/")
    return f"{folder}/{alert}.md" if alert else folder
