"""The benchmark runs, on a few queues, and prints all that it is there for; how fast anything is does not matter."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from rig.drivers import DEFAULT_DRIVER, FOLDER
from rig.programs import missing

if TYPE_CHECKING:
    from collections.abc import Mapping

Report: TypeAlias = "Mapping[str, list[dict[str, str | int | float | bool | None]]]"

PROGRAM = Path(__file__).parents[2] / "bench" / "run.py"
OURS = {"read", "scrape", "prometheus"}
KINDS_OF_ROWS = OURS | {f"stirred {kind}" for kind in OURS} | {"floor", "own", "own in turn", "resting", "searching"}
SECONDS = 240


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Report]:
    """What a small run printed, and its figures."""
    if not (FOLDER / "node_modules" / DEFAULT_DRIVER.replace("node-", "bullmq-")).is_dir():
        missing("no BullMQ for Node.js: run `npm ci --ignore-scripts` in chaos/worker")
    figures = tmp_path_factory.mktemp("bench") / "figures.json"
    argv = [sys.executable, str(PROGRAM), "--small", "--server", "valkey-9", "--json", str(figures)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(figures.read_text())


def test_every_way_of_reading_has_its_row(ran: tuple[str, Report]) -> None:
    text, report = ran
    assert {row["kind"] for row in report["rows"]} == KINDS_OF_ROWS
    assert [row["name"] for row in report["rows"] if str(row["name"]) not in text] == []


def test_the_floor_sends_what_a_scrape_sends(ran: tuple[str, Report]) -> None:
    rows = {row["kind"]: row for row in reversed(ran[1]["rows"])}
    assert rows["floor"]["commands"] == rows["read"]["commands"] == rows["scrape"]["commands"]
    assert rows["floor"]["trips"] == 2


def test_series_are_counted(ran: tuple[str, Report]) -> None:
    rows = {row["kind"]: row for row in reversed(ran[1]["rows"])}
    states_and_totals = 7 + 2
    assert rows["own"]["series"] == 20 * states_and_totals
    assert rows["scrape"]["series"] == rows["prometheus"]["series"] > rows["own"]["series"]


def test_each_target_is_judged(ran: tuple[str, Report]) -> None:
    text, report = ran
    judged = re.findall(r"[<>]= [\d.]+ +(ok|MISSED)\b", text)
    assert judged == ["ok" if target["met"] else "MISSED" for target in report["targets"]]
    assert len(judged) > 5
