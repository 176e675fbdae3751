"""grafanalib's classes, brought to what Grafana reads today (its schema 42); the only module that imports grafanalib.

It knows no exemplars, still writes what Grafana dropped years ago, and describes heatmap, table and bar gauge as they
were before version 8. A test holds what is written here against Grafana's published types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

from grafanalib import core  # type: ignore[import-untyped]  # it carries no types

if TYPE_CHECKING:
    from qobserve.panels.links import Json

SCHEMA_VERSION = 42
"""The one that the package @grafana/schema has by default; a newer Grafana migrates it by itself."""

Fields: TypeAlias = "dict[str, Json]"

DATASOURCE: Fields = {"type": "prometheus", "uid": "${datasource}"}
GRAFANA: Fields = {"type": "grafana", "uid": "-- Grafana --"}

_KEPT = (
    "id",
    "type",
    "title",
    "description",
    "datasource",
    "gridPos",
    "targets",
    "fieldConfig",
    "options",
    "transformations",
    "links",
    "interval",
    "timeFrom",
)
"""What of a panel Grafana still reads and is set here."""

Panel: TypeAlias = core.Panel
GridPos = core.GridPos
Annotations = core.Annotations
Templating = core.Templating
Time = core.Time


def plain(value: object) -> Json:
    """Objects of grafanalib as JSON, all the way down."""
    to_json_data = getattr(value, "to_json_data", None)
    if to_json_data is not None:
        return plain(to_json_data())
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return cast("Json", value)


def _known(fields: Fields) -> Fields:
    return {key: value for key, value in fields.items() if value is not None}


def _modern(panel: object) -> Fields:
    fields = cast("Fields", plain(panel))
    kept = {key: fields[key] for key in _KEPT if fields.get(key) is not None}
    config = cast("Fields", kept["fieldConfig"])
    defaults = _known(cast("Fields", config["defaults"]))
    defaults["custom"] = _known(cast("Fields", defaults.get("custom") or {}))
    kept["fieldConfig"] = {"defaults": defaults, "overrides": config.get("overrides") or []}
    return kept


class Query(core.Target):  # type: ignore[misc]  # grafanalib has no types
    """What a panel asks Prometheus.

    Args:
        exemplar: Whether the traces behind the values are asked for and drawn.
        only_if: When anything comes back at all, if not always; it is for readers and tests, not for Grafana.
        target: What grafanalib's own class takes.
    """

    def __init__(self, *, exemplar: bool = False, only_if: str = "", **target: object) -> None:
        super().__init__(**target)
        self.exemplar = exemplar
        self.only_if = only_if

    def to_json_data(self) -> Fields:
        """As Grafana's Prometheus data source reads it."""
        return {
            "refId": self.refId,
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": self.expr,
            "format": self.format,
            "legendFormat": self.legendFormat,
            "instant": self.instant,
            "range": not self.instant,
            "exemplar": self.exemplar,
        }


class TimeSeries(core.TimeSeries):  # type: ignore[misc]  # as above
    """Lines over time."""

    def to_json_data(self) -> Fields:
        """As Grafana reads it."""
        return _modern(super().to_json_data())


class Stat(core.Stat):  # type: ignore[misc]  # as above
    """One large number."""

    def to_json_data(self) -> Fields:
        """As Grafana reads it."""
        return _modern(super().to_json_data())


class StateTimeline(core.StateTimeline):  # type: ignore[misc]  # as above
    """Bars that say what held when."""

    def to_json_data(self) -> Fields:
        """As Grafana reads it."""
        return _modern(super().to_json_data())


class Drawn(core.Panel):  # type: ignore[misc]  # as above
    """A kind of panel that grafanalib describes as it was once: all of it stands in `extraJson`."""

    def to_json_data(self) -> Fields:
        """As Grafana reads it."""
        return _modern(self.panel_json({}))


class Row(core.RowPanel):  # type: ignore[misc]  # as above
    """A heading over panels."""

    def to_json_data(self) -> Fields:
        """As Grafana reads it."""
        place = cast("Fields", plain(self.gridPos))
        return {"id": self.id, "type": "row", "title": self.title, "gridPos": place, "collapsed": False, "panels": []}


class Variable(core.Template):  # type: ignore[misc]  # as above
    """A variable at the top of the dashboard."""

    def to_json_data(self) -> Fields:
        """As Grafana reads it: what belongs to other kinds of variables is left out."""
        kept = ("name", "label", "type", "query", "datasource", "regex", "allValue", "current")
        fields = {
            key: value for key, value in super().to_json_data().items() if key in kept and value not in (None, {})
        }
        if self.type == "query":
            fields |= {"refresh": self.refresh, "sort": self.sort}
        if self.type != "textbox":
            fields |= {"multi": self.multi, "includeAll": self.includeAll}
        return {**fields, "hide": self.hide}


class Board(core.Dashboard):  # type: ignore[misc]  # as above
    """A dashboard."""

    def to_json_data(self) -> Fields:
        """As Grafana reads it, with the links that `links.resolved` still has to fill in."""
        old = {"__inputs", "gnetId", "hideControls", "rows", "sharedCrosshair", "style"}
        fields = cast("Fields", plain(super().to_json_data()))
        picker: Fields = {"refresh_intervals": ["5s", "10s", "30s", "1m", "5m", "15m", "1h"]}
        return {key: value for key, value in fields.items() if key not in old} | {"timepicker": picker}
