"""The kinds of panels: lines, a large number, bars, a heatmap, a timeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

from qobserve.panels.frame import NEUTRAL, frame, lettered, mapping, steps
from qobserve.panels.grafana import Drawn, Stat, StateTimeline, TimeSeries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.panels.frame import Steps, Words
    from qobserve.panels.grafana import Fields, Panel, Query

HIDDEN_LEGEND: Fields = {"showLegend": False, "displayMode": "hidden", "placement": "bottom", "calcs": []}


class Style(TypedDict, total=False):
    """What may be said of a panel: each kind reads what it can show.

    `limits` are the values from which on colours hold, `links` open from a value, `words` are shown in place of values,
    `missing` in place of none, `most` is where the scale ends, `runbook` is the page of an alert.
    """

    size: tuple[int, int]
    limits: Steps
    links: Sequence[Fields]
    overrides: Sequence[Fields]
    words: Words
    most: int
    stacked: bool
    missing: str
    text: str
    runbook: str


def lines(title: str, how_to_read: str, unit: str, queries: Sequence[Query], **style: Unpack[Style]) -> Panel:
    """Lines over time; limits beyond the first are dashed lines."""
    stacked, limits = style.get("stacked", False), style.get("limits", NEUTRAL)
    return TimeSeries(
        **frame(title, how_to_read, style.get("size", (12, 8)), style.get("runbook", "")),
        targets=lettered(queries),
        unit=unit,
        fillOpacity=30 if stacked else 8,
        stacking={"mode": "normal" if stacked else "none", "group": "A"},
        showPoints="never",
        tooltipMode="multi",
        tooltipSort="desc",
        legendDisplayMode="table",
        legendCalcs=["lastNotNull", "max"],
        thresholds=steps(limits),
        thresholdsStyleMode="dashed" if len(limits) > 1 else "off",
        valueMin=0,
        valueMax=style.get("most"),
        overrides=list(style.get("overrides", ())),
        extraJson={
            "fieldConfig": {"defaults": {"links": list(style.get("links", ()))}},
            "options": {"legend": {"showLegend": True}},
        },
    )


def number(title: str, how_to_read: str, unit: str, query: Query, **style: Unpack[Style]) -> Panel:
    """One large number, or one for each series."""
    words = style.get("words")
    return Stat(
        **frame(title, how_to_read, style.get("size", (4, 4)), style.get("runbook", "")),
        targets=lettered([query]),
        format=unit,
        thresholds=steps(style.get("limits", NEUTRAL)),
        mappings=[mapping(words)] if words else [],
        noValue=style.get("missing", "no data"),
        reduceCalc="lastNotNull",
        graphMode="none" if words else "area",
        textMode=style.get("text", "auto"),
        color={"mode": "thresholds"},
        extraJson={
            "options": {"wideLayout": True, "showPercentChange": False, "percentChangeColorMode": "standard"},
        },
    )


def bars(title: str, how_to_read: str, unit: str, query: Query, **style: Unpack[Style]) -> Panel:
    """A bar for each series, for its last value."""
    defaults: Fields = {
        "unit": unit,
        "min": 0,
        "max": style.get("most"),
        "color": {"mode": "thresholds"},
        "thresholds": {"mode": "absolute", "steps": steps(style.get("limits", NEUTRAL))},
        "links": list(style.get("links", ())),
    }
    options: Fields = {
        "displayMode": "basic",
        "orientation": "horizontal",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showUnfilled": True,
        "valueMode": "color",
        "namePlacement": "left",
        "sizing": "auto",
        "minVizHeight": 16,
        "minVizWidth": 8,
        "maxVizHeight": 300,
        "legend": HIDDEN_LEGEND,
    }
    shape: Fields = {"type": "bargauge", "fieldConfig": {"defaults": defaults}, "options": options}
    place = frame(title, how_to_read, style.get("size", (12, 8)), style.get("runbook", ""))
    return Drawn(**place, targets=lettered([query]), extraJson=shape)


def heatmap(title: str, how_to_read: str, unit: str, query: Query, *, size: tuple[int, int] = (12, 9)) -> Panel:
    """How many fell into which bucket when; dots are traces."""
    query.format = "heatmap"
    query.legendFormat = "{{le}}"
    options: Fields = {
        "calculate": False,
        "cellGap": 1,
        "cellValues": {"unit": "ops"},
        "color": {
            "mode": "scheme",
            "scheme": "Oranges",
            "scale": "exponential",
            "exponent": 0.5,
            "fill": "dark-orange",
            "reverse": False,
            "steps": 64,
        },
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "showValue": "never",
        "tooltip": {"mode": "single", "yHistogram": True, "showColorScale": True},
        "yAxis": {"axisPlacement": "left", "reverse": False, "unit": unit},
    }
    custom: Fields = {"hideFrom": {"legend": False, "tooltip": False, "viz": False}}
    shape: Fields = {
        "type": "heatmap",
        "fieldConfig": {"defaults": {"unit": unit, "custom": custom}},
        "options": options,
    }
    return Drawn(**frame(title, how_to_read, size), targets=lettered([query]), extraJson=shape)


def timeline(
    title: str, how_to_read: str, queries: Sequence[Query], words: Words, *, size: tuple[int, int] = (12, 8)
) -> Panel:
    """What held when, in words in place of values."""
    return StateTimeline(
        **frame(title, how_to_read, size),
        targets=lettered(queries),
        mappings=[mapping(words)],
        showValue="never",
        thresholds=steps(NEUTRAL),
        extraJson={
            "fieldConfig": {"defaults": {"unit": "none", "noValue": "nothing"}},
            "options": {"legend": {"showLegend": True, "calcs": []}, "tooltip": {"sort": "none"}},
        },
    )
