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


def test_the_floor_sends_what_a_scrape_sends_in_two_round_trips(ran: tuple[str, Report]) -> None:
    rows = {row["kind"]: row for row in reversed(ran[1]["rows"])}
    assert rows["floor"]["commands"] == rows["read"]["commands"] == rows["scrape"]["commands"]
    assert {row["trips"] for row in ran[1]["rows"] if row["kind"] in OURS | {"floor"}} == {2}


def test_series_are_counted(ran: tuple[str, Report]) -> None:
    rows = {row["kind"]: row for row in reversed(ran[1]["rows"])}
    states_and_totals = 7 + 2
    assert rows["own"]["series"] == 250 * states_and_totals
    assert rows["scrape"]["series"] == rows["prometheus"]["series"] > rows["own"]["series"]


def test_only_queues_that_are_filled_alike_are_compared(ran: tuple[str, Report]) -> None:
    read = [row for row in ran[1]["rows"] if row["kind"] == "read"]
    assert [(row["jobs"], row["all_waiting"]) for row in read] == [(50, False), (20, False), (50, True), (1, True)]
    compared = [str(target["name"]) for target in ran[1]["targets"] if " a queue" in str(target["name"])]
    assert compared == [
        f"{what}, {jobs}, time"
        for jobs in ("50 / 20 a queue in all states", "50 / 1 a queue, all waiting")
        for what in ("our read", "our scrape")
    ]
    alike = [row["series"] for row in ran[1]["rows"] if row["kind"] == "scrape" and row["all_waiting"]]
    assert alike[0] == alike[1]


def test_each_target_is_judged_and_nothing_else(ran: tuple[str, Report]) -> None:
    text, report = ran
    verdicts: dict[object, str] = {True: "ok", False: "MISSED", None: "no target"}
    printed = re.findall(r"(?:[<>]= [\d.]+ +(?=ok|MISSED)|(?=no target))(ok|MISSED|no target)", text)
    assert printed == [verdicts[target["met"]] for target in report["targets"]]
    unjudged = [str(target["name"]) for target in report["targets"] if target["limit"] is None]
    assert unjudged == [
        "our scrape beside a search / without, p95",
        "our read / floor, all changed, time",
        "our scrape / BullMQ's own, all changed, time",
    ]
