"""A dashboard from rows of panels: places, numbers, variables, links and annotations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import attr

from qobserve.panels.grafana import GRAFANA, SCHEMA_VERSION, Annotations, Board, GridPos, Row, Templating, Time
from qobserve.panels.links import BULL_BOARD, away, to_runbook

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qobserve.panels.grafana import Fields, Panel, Variable

TAG = "bullmq"
COLUMNS = 24
_SHARED_CROSSHAIR = 1

Section = tuple[str, "Sequence[Panel]"]
"""A heading, and what stands under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a dashboard is: its address, title and purpose."""

    uid: str
    title: str
    purpose: str
    span: str = "now-1h"


def board(
    about: About,
    sections: Sequence[Section],
    variables: Sequence[Variable],
    *,
    links: Sequence[Fields] = (),
    annotations: Sequence[Fields] = (),
) -> Board:
    """The dashboard: sections below each other, the panels of each from left to right as long as there is room."""
    return Board(
        uid=about.uid,
        title=about.title,
        description=about.purpose,
        tags=[TAG, "qobserve"],
        schemaVersion=SCHEMA_VERSION,
        graphTooltip=_SHARED_CROSSHAIR,
        refresh="30s",
        time=Time(about.span, "now"),
        timezone="browser",
        templating=Templating(list(variables)),
        annotations=Annotations([_of_grafana(), *annotations]),
        links=[_others(), *links, *_elsewhere()],
        panels=list(_placed(sections)),
    )


def _placed(sections: Sequence[Section]) -> Iterator[Panel]:
    y, number = 0, 0
    for title, panels in sections:
        number += 1
        yield Row(title=title, id=number, gridPos=GridPos(h=1, w=COLUMNS, x=0, y=y))
        y, x, height = y + 1, 0, 0
        for panel in panels:
            size = panel.gridPos
            if x + size.w > COLUMNS:
                y, x, height = y + height, 0, 0
            number += 1
            yield attr.evolve(panel, id=number, gridPos=GridPos(h=size.h, w=size.w, x=x, y=y))
            x, height = x + size.w, max(height, size.h)
        y += height


def _others() -> Fields:
    """All dashboards of ours, with what is chosen here."""
    others: Fields = {"type": "dashboards", "icon": "external link", "tags": [TAG, "qobserve"], "targetBlank": False}
    return {**away("BullMQ", "", "The other dashboards"), **others, "includeVars": True, "keepTime": True}


def _elsewhere() -> list[Fields]:
    return [
        away("Runbooks", to_runbook(), "What each alert means and what to do about it"),
        away("Bull Board", f"{BULL_BOARD}/", "The jobs themselves"),
    ]


def _of_grafana() -> Fields:
    """What people and alert rules of Grafana itself have noted; every dashboard has it."""
    return {
        "builtIn": 1,
        "datasource": GRAFANA,
        "enable": True,
        "hide": True,
        "iconColor": "rgba(0, 211, 255, 1)",
        "name": "Annotations & Alerts",
        "type": "dashboard",
    }
