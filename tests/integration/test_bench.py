"""The benchmark runs, on a few queues, and prints all that it is there for; how fast anything is does not matter."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypedDict

import pytest
from rig.drivers import DEFAULT_DRIVER, FOLDER
from rig.programs import missing

Rows: TypeAlias = "list[dict[str, str | int | float | bool | None]]"


class Report(TypedDict):
    """What one part of a run told."""

    rows: Rows
    facts: dict[str, float]
    targets: Rows


class Ran(NamedTuple):
    """What a small run printed, and its figures."""

    text: str
    read: Report
    follow: Report


PROGRAM = Path(__file__).parents[2] / "bench" / "run.py"
OURS = {"read", "scrape", "prometheus"}
KINDS_OF_ROWS = OURS | {f"stirred {kind}" for kind in OURS} | {"floor", "own", "own in turn", "resting", "searching"}
SECONDS = 240
RETRIED_PER_10_000 = 1_000


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A small run of everything."""
    if not (FOLDER / "node_modules" / DEFAULT_DRIVER.replace("node-", "bullmq-")).is_dir():
        missing("no BullMQ for Node.js: run `npm ci --ignore-scripts` in chaos/worker")
    figures = tmp_path_factory.mktemp("bench") / "figures.json"
    argv = [sys.executable, str(PROGRAM), "--small", "--server", "valkey-9", "--json", str(figures)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return Ran(done.stdout, **json.loads(figures.read_text()))


def test_every_way_of_reading_has_its_row(ran: Ran) -> None:
    text, report = ran.text, ran.read
    assert {row["kind"] for row in report["rows"]} == KINDS_OF_ROWS
    assert [row["name"] for row in report["rows"] if str(row["name"]) not in text] == []


def test_the_floor_sends_what_a_scrape_sends_in_two_round_trips(ran: Ran) -> None:
    rows = {row["kind"]: row for row in reversed(ran.read["rows"])}
    assert rows["floor"]["commands"] == rows["read"]["commands"] == rows["scrape"]["commands"]
    assert {row["trips"] for row in ran.read["rows"] if row["kind"] in OURS | {"floor"}} == {2}


def test_series_are_counted(ran: Ran) -> None:
    rows = {row["kind"]: row for row in reversed(ran.read["rows"])}
    states_and_totals = 7 + 2
    assert rows["own"]["series"] == 250 * states_and_totals
    assert rows["scrape"]["series"] == rows["prometheus"]["series"] > rows["own"]["series"]


def test_only_queues_that_are_filled_alike_are_compared(ran: Ran) -> None:
    read = [row for row in ran.read["rows"] if row["kind"] == "read"]
    assert [(row["jobs"], row["all_waiting"]) for row in read] == [(50, False), (20, False), (50, True), (1, True)]
    compared = [str(target["name"]) for target in ran.read["targets"] if " a queue" in str(target["name"])]
    assert compared == [
        f"{what}, {jobs}, time"
        for jobs in ("50 / 20 a queue in all states", "50 / 1 a queue, all waiting")
        for what in ("our read", "our scrape")
    ]
    alike = [row["series"] for row in ran.read["rows"] if row["kind"] == "scrape" and row["all_waiting"]]
    assert alike[0] == alike[1]


def test_each_target_is_judged_and_nothing_else(ran: Ran) -> None:
    verdicts: dict[object, str] = {True: "ok", False: "MISSED", None: "no target"}
    printed = re.findall(r"(?:[<>]= [\d.]+ +(?=ok|MISSED)|(?=no target))(ok|MISSED|no target)", ran.text)
    targets = [*ran.read["targets"], *ran.follow["targets"]]
    assert printed == [verdicts[target["met"]] for target in targets]
    assert [str(target["name"]) for target in targets if target["limit"] is None] == [
        "our scrape beside a search / without, p95",
        "our read / floor, all changed, time",
        "our scrape / BullMQ's own, all changed, time",
        "exporter / QueueEvents, CPU for the same events",
    ]


def test_what_following_costs_is_told(ran: Ran) -> None:
    facts = ran.follow["facts"]
    assert [name for name in facts if name not in ran.text] == []
    assert all(facts[name] > 0 for name in facts if "events missed" not in name)
    parts = {name.strip(): calls for name, calls in facts.items() if name.startswith(" ")}
    assert {"xread", "hmget"} <= parts.keys()
    assert sum(parts.values()) == facts["commands per 10,000 jobs, that the exporter adds"]
    assert parts["hmget"] == pytest.approx(RETRIED_PER_10_000, rel=0.2), "BullMQ asks a little more or less itself"


def test_following_a_few_events_misses_none_and_holds_little(ran: Ran) -> None:
    targets = {str(target["name"]): target for target in ran.follow["targets"]}
    assert targets["events missed at full speed"]["value"] == 0
    assert ran.follow["facts"]["events missed while 5,000 jobs were written"] == 0
    assert targets["exporter's memory with 5,000 jobs waiting, MiB"]["met"]
