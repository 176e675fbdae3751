"""Tables: a row for each queue or Redis, a column for each query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from qobserve.panels.frame import NEUTRAL, ask_now, frame, lettered, mapping, steps
from qobserve.panels.grafana import Drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.panels.charts import Style
    from qobserve.panels.frame import Steps, Words
    from qobserve.panels.grafana import Fields, Panel
    from qobserve.panels.links import Json

OF_QUEUE = {"bullmq_target": "Redis", "prefix": "Prefix", "queue": "Queue"}
"""The labels that say what a row is about, and what their columns are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of numbers: what is asked for each row, and how the answers are shown."""

    title: str
    expr: str
    unit: str = "none"
    limits: Steps | None = None
    words: Words | None = None
    only_if: str = ""


def table(
    title: str,
    how_to_read: str,
    columns: Sequence[Column],
    keys: dict[str, str],
    **style: Unpack[Style],
) -> Panel:
    """A row for each combination of `keys`, which gives the title of a column by its label.

    Rows are in the order of the first column, largest first; `links` open from the last of the keys.
    """
    queries = lettered([ask_now(column.expr, table=True, only_if=column.only_if) for column in columns])
    # Grafana numbers the values only where there are several queries.
    values = [f"Value #{query.refId}" for query in queries] if len(queries) > 1 else ["Value"]
    fields = {**keys, **dict(zip(values, [column.title for column in columns], strict=True))}
    defaults: Fields = {
        "unit": "none",
        "noValue": style.get("missing", ""),
        "thresholds": {"mode": "absolute", "steps": steps(NEUTRAL)},
        "custom": {"align": "auto", "filterable": True, "cellOptions": {"type": "auto"}},
    }
    overrides: list[Json] = [_override(column) for column in columns]
    if "links" in style:
        overrides.append(_property([*keys.values()][-1], {"id": "links", "value": list(style["links"])}))
    options: Fields = {
        "frameIndex": 0,
        "showHeader": True,
        "cellHeight": "sm",
        "sortBy": [{"displayName": columns[0].title, "desc": True}],
    }
    shape: Fields = {
        "type": "table",
        "fieldConfig": {"defaults": defaults, "overrides": overrides},
        "options": options,
        "transformations": _one_row_each(fields),
    }
    place = frame(title, how_to_read, style.get("size", (24, 9)), style.get("runbook", ""))
    return Drawn(**place, targets=queries, extraJson=shape)


def _one_row_each(fields: dict[str, str]) -> list[Json]:
    """Grafana joins the answers by the labels that they share, and drops what else Prometheus knows of the target."""
    names: list[Json] = list(fields)
    return [
        {"id": "merge", "options": {}},
        {"id": "filterFieldsByName", "options": {"include": {"names": names}}},
        {
            "id": "organize",
            "options": {
                "excludeByName": {},
                "indexByName": {name: index for index, name in enumerate(fields)},
                "renameByName": dict(fields),
            },
        },
    ]


def _override(column: Column) -> Fields:
    properties: list[Json] = [{"id": "unit", "value": column.unit}]
    if column.words:
        properties.append({"id": "mappings", "value": [mapping(column.words)]})
    if column.limits:
        properties.append({"id": "thresholds", "value": {"mode": "absolute", "steps": steps(column.limits)}})
        properties.append({"id": "custom.cellOptions", "value": {"type": "color-text"}})
    return _property(column.title, *properties)


def _property(title: str, *properties: Json) -> Fields:
    return {"matcher": {"id": "byName", "options": title}, "properties": list(properties)}
