"""The dashboards as definitions and as committed, and each of their expressions with Grafana's variables filled in."""

from __future__ import annotations

import json
import re
import runpy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FOLDER = Path(__file__).resolve().parents[2] / "dashboards"
SUFFIX = ".dashboard.py"
NAMES = sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}"))
VARIABLE = re.compile(r"\$(?:\{(?P<braced>[^}:.]+)(?:\.[^}:]*)?(?::\w+)?\}|(?P<bare>\w+))")
BUILT_IN = {"__rate_interval": "1m", "__range": "1h", "__interval": "15s"}
"""What Grafana sets by itself, at values that the tests can use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """One query of a panel or an annotation, as it is written; `only_if` says when it finds anything, if not always."""

    board: str
    panel: str
    ref: str
    expr: str
    only_if: str

    def filled(self, values: Mapping[str, str]) -> str:
        """The expression as Prometheus gets it; an unknown variable is an error."""
        known = {**BUILT_IN, **values}
        return VARIABLE.sub(lambda match: known[match["braced"] or match["bare"]], self.expr)


@cache
def definition(name: str) -> object:
    """The value `dashboard` of a definition."""
    return runpy.run_path(str(FOLDER / f"{name}{SUFFIX}"))["dashboard"]


@cache
def document(name: str) -> dict[str, object]:
    """The committed JSON of a dashboard."""
    parsed: dict[str, object] = json.loads((FOLDER / "json" / f"{name}.json").read_text())
    return parsed


def panels(name: str) -> list[dict[str, object]]:
    """The committed panels of a dashboard, rows left out."""
    found = document(name)["panels"]
    assert isinstance(found, list)
    return [panel for panel in found if panel["type"] != "row"]


def expressions() -> Iterator[Expression]:
    """Every query of every dashboard."""
    for name in NAMES:
        board = definition(name)
        for panel in board.panels:  # type: ignore[attr-defined]  # grafanalib has no types
            for query in panel.targets:
                yield Expression(
                    board=name,
                    panel=panel.title,
                    ref=query.refId,
                    expr=query.expr,
                    only_if=query.only_if,
                )
        for annotation in board.annotations.list:  # type: ignore[attr-defined]  # as above
            if "expr" in annotation:
                yield Expression(
                    board=name, panel=annotation["name"], ref="", expr=annotation["expr"], only_if="Redis is down"
                )
