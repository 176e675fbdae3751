"""What all panels have in common: a title, a sentence on how to read it, a place, queries, thresholds and words."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase
from typing import TYPE_CHECKING, TypeAlias

from qobserve.panels.grafana import DATASOURCE, GridPos, Query
from qobserve.panels.links import away, to_runbook

if TYPE_CHECKING:
    from qobserve.panels.grafana import Fields
    from qobserve.panels.links import Json

OF_QUEUE = "{{prefix}}:{{queue}} {{bullmq_target}}"
OF_REDIS = "{{instance}} {{bullmq_target}}"

Steps: TypeAlias = Sequence[tuple[float | None, str]]
"""From which value on which colour; the first from None."""

Words: TypeAlias = "dict[str, tuple[str, str]]"
"""A text and its colour, by the value that they stand for."""

NEUTRAL: Steps = ((None, "blue"),)
NONE_IS_GOOD: Steps = ((None, "green"), (1, "red"))
ONE_IS_GOOD: Steps = ((None, "red"), (1, "green"))
OF_OBJECTIVE: Steps = ((None, "green"), (0.8, "orange"), (1, "red"))


def ask(expr: str, legend: str = "", *, exemplar: bool = False, only_if: str = "") -> Query:
    """A query over the time range."""
    return Query(expr=expr, legendFormat=legend, exemplar=exemplar, only_if=only_if)


def ask_now(expr: str, legend: str = "", *, table: bool = False, only_if: str = "") -> Query:
    """A query for the last moment of the range."""
    kind = "table" if table else "time_series"
    return Query(expr=expr, legendFormat=legend, instant=True, format=kind, only_if=only_if)


def lettered(queries: Sequence[Query]) -> list[Query]:
    """The queries, each with a letter of its own."""
    for letter, query in zip(ascii_uppercase, queries, strict=False):
        query.refId = letter
    return list(queries)


def steps(pairs: Steps) -> list[Json]:
    """Thresholds as Grafana reads them."""
    return [{"value": value, "color": color} for value, color in pairs]


def frame(title: str, how_to_read: str, size: tuple[int, int], runbook: str = "") -> dict[str, object]:
    """The arguments that every panel takes; its place is set when the dashboard is put together."""
    width, height = size
    return {
        "title": title,
        "description": how_to_read,
        "dataSource": DATASOURCE,
        "gridPos": GridPos(h=height, w=width, x=0, y=0),
        "links": [away("Runbook", to_runbook(runbook), "What to do about it")] if runbook else [],
    }


def mapping(words: Words) -> Fields:
    """Words and their colours, by the value that they stand for."""
    return {
        "type": "value",
        "options": {
            value: {"text": text, "color": color, "index": index}
            for index, (value, (text, color)) in enumerate(words.items())
        },
    }
