"""Marks over the panels: the windows in which a fault held, and those in which Redis did not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.exporter import UP
from qobserve.panels.grafana import DATASOURCE, GRAFANA
from qobserve.panels.promql import select

if TYPE_CHECKING:
    from qobserve.panels.grafana import Fields

CHAOS_TAG = "qobserve-chaos"
"""Who breaks something on purpose notes it in Grafana (POST /api/annotations) with this tag, `time` and `timeEnd`."""

NOTED_FAULTS: Fields = {
    "name": "Faults",
    "datasource": GRAFANA,
    "enable": True,
    "hide": False,
    "iconColor": "red",
    "target": {"type": "tags", "tags": [CHAOS_TAG], "matchAny": False, "limit": 1000},
}
"""A window for each annotation of Grafana with the tag. Not a metric: a fault is known to who injects it, to the
millisecond, and has to be seen also where it is shorter than a scrape interval or breaks the scrape itself."""


def scrapes_without_redis() -> Fields:
    """A window for each time that the exporter could not read Redis, whoever broke it."""
    return {
        "name": "Redis down",
        "datasource": DATASOURCE,
        "enable": True,
        "hide": False,
        "iconColor": "orange",
        "expr": f"{select(UP)} == 0",
        "titleFormat": "Redis did not answer",
        "textFormat": "{{instance}} {{bullmq_target}}",
    }
