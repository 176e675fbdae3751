"""The dashboards are valid in Grafana's published types: @grafana/schema, and the foundation SDK's for Prometheus."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rig.boards import NAMES, document
from rig.programs import missing

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent / "grafana"
COMPILER = HERE / "node_modules" / "typescript" / "bin" / "tsc"


def first(kind: str, board: dict[str, object]) -> dict[str, object]:
    """The first panel of a kind."""
    return next(panel for panel in board["panels"] if panel["type"] == kind)  # type: ignore[attr-defined]  # plain JSON


# What grafanalib writes by itself, or a typing mistake would: each must be refused.
WRONG: dict[str, Callable[[dict[str, object]], object]] = {
    "a field that Grafana dropped": lambda b: first("stat", b).update(editable=True),
    "a row with a height": lambda b: first("row", b).update(height=1),
    "rows beside panels": lambda b: b.update(rows=[]),
    "no unit": lambda b: first("stat", b)["fieldConfig"]["defaults"].pop("unit"),
    "no description": lambda b: first("table", b).pop("description"),
    "a threshold that is a text": lambda b: first("stat", b)["fieldConfig"]["defaults"]["thresholds"]["steps"][
        0
    ].update(value="null"),
    "a word that is none of the choices": lambda b: first("timeseries", b)["options"]["tooltip"].update(mode="shared"),
    "an option of the heatmap before version 8": lambda b: first("heatmap", b)["options"].update(
        dataFormat="tsbuckets"
    ),
    "a field that a query does not have": lambda b: first("heatmap", b)["targets"][0].update(step=10),
    "a variable with tags": lambda b: b["templating"]["list"][0].update(useTags=False),
    "a kind of panel that is gone": lambda b: first("timeseries", b).update(type="graph"),
}


def compiled(folder: Path, boards: dict[str, dict[str, object]]) -> dict[str, list[str]]:
    """What TypeScript's compiler complains about, by board."""
    node = shutil.which("node")
    if node is None or not COMPILER.is_file():
        missing("no TypeScript with Grafana's types: `make services` installs it when npm is there")
    opening = f"import type {{ Board }} from {json.dumps(str(HERE / 'board.js'))};\nexport const board: Board = "
    files = {f"b{number}.ts": name for number, name in enumerate(boards)}
    for file, name in files.items():
        (folder / file).write_text(opening + json.dumps(boards[name]) + ";\n")
    options = {"extends": str(HERE / "tsconfig.json"), "files": [*files]}
    (folder / "tsconfig.json").write_text(json.dumps(options))
    run = subprocess.run(
        [node, str(COMPILER), "-p", str(folder), "--pretty", "false"], capture_output=True, text=True, check=False
    )
    lines = run.stdout.splitlines()
    assert run.stderr == ""
    assert not [line for line in lines if "error TS" in line and ".ts(" not in line]
    return {name: [line for line in lines if f"{file}(" in line] for file, name in files.items()}


def spoilt() -> dict[str, dict[str, object]]:
    """A dashboard with one panel of each kind, wrong in one way each."""
    board = document("queue")
    kinds = {panel["type"]: panel for panel in board["panels"]}  # type: ignore[attr-defined]  # plain JSON
    boards = {}
    for what, spoil in WRONG.items():
        boards[what] = json.loads(json.dumps({**board, "panels": [*kinds.values()]}))
        spoil(boards[what])
    return boards


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the compiler says about all of them; starting it takes longer than the rest."""
    boards = {name: document(name) for name in NAMES} | spoilt()
    return compiled(tmp_path_factory.mktemp("boards"), boards)


@pytest.mark.parametrize("name", NAMES)
def test_a_dashboard_has_the_published_types(name: str, complaints: dict[str, list[str]]) -> None:
    assert complaints[name] == []


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_refused(what: str, complaints: dict[str, list[str]]) -> None:
    assert complaints[what] != []


@pytest.mark.parametrize("name", NAMES)
def test_the_version_of_the_schema_is_the_published_one(name: str) -> None:
    module = HERE / "node_modules/@grafana/schema/dist/esm/raw/dashboard/x/types.gen.mjs"
    if not module.is_file():
        missing("no types of Grafana: `make services` installs them when npm is there")
    assert f"schemaVersion: {document(name)['schemaVersion']}" in module.read_text()
