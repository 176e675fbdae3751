"""Prometheus's own tool takes the rules, and finds that they fire and stay quiet as they should."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml
from repo.tree import ROOT
from rig.programs import missing

from qobserve.alerts.export import Format, groups, text
from qobserve.alerts.options import AlertOptions
from qobserve.config import MetricsSettings, Settings

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "dashboards" / "alerts"
CASES = sorted(FOLDER.rglob("*.test.yml"))
RUNBOOKS = sorted((ROOT / "dashboards" / "runbooks").glob("BullMQ*.md"))
EVERYTHING = AlertOptions(with_length_alerts=True)


@pytest.fixture(autouse=True)
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        missing("no promtool on PATH: the system's package prometheus holds it")
    return found


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *words], cwd=folder, capture_output=True, text=True, check=False)


def check(rules: str, folder: Path) -> int:
    """How many rules Prometheus counts; it must not complain about any."""
    (folder / "checked.yml").write_text(rules)
    done = run("check", "rules", "--lint-fatal", "checked.yml", folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"SUCCESS: (\d+) rules found", done.stdout)
    assert found
    return int(found[1])


@pytest.mark.parametrize(
    ("settings", "options"),
    [
        (Settings(), AlertOptions()),
        (Settings(), EVERYTHING),
        (Settings(metrics=MetricsSettings(wait_buckets=(0.5,))), AlertOptions(job='a "b" \\ {c}', stuck_window=0.25)),
        (Settings(metrics=MetricsSettings(wait_buckets=(0.001, 2.5, 2_500_000.0))), EVERYTHING),
    ],
    ids=["default", "everything", "odd", "bounds"],
)
def test_prometheus_takes_the_rules(settings: Settings, options: AlertOptions, tmp_path: Path) -> None:
    expected = sum(len(group.rules) for group in groups(settings, options))
    assert check(text(settings, options, Format.PROMETHEUS), tmp_path) == expected > 30
    resource = yaml.safe_load(text(settings, options, Format.PROMETHEUSRULE))
    assert check(json.dumps(resource["spec"]), tmp_path) == expected


@pytest.mark.parametrize("cases", CASES, ids=lambda path: path.name)
def test_alerts_fire_and_stay_quiet(cases: Path) -> None:
    done = run("test", "rules", cases.name, folder=cases.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_case_that_is_wrong_is_noticed(tmp_path: Path) -> None:
    """The same cases fail when a rule no longer says what it said."""
    rules = (FOLDER / "qobserve.rules.yml").read_text()
    (tmp_path / "qobserve.rules.yml").write_text(rules.replace("unless bullmq_queue_paused", "unless bullmq_nothing"))
    shutil.copy(FOLDER / "age.test.yml", tmp_path)
    done = run("test", "rules", "age.test.yml", folder=tmp_path)
    assert done.returncode != 0
    assert "a paused queue is left to BullMQQueuePaused" in done.stdout + done.stderr


def test_the_queries_of_the_runbooks_can_be_asked(tmp_path: Path) -> None:
    queries = [
        query
        for page in RUNBOOKS
        for block in re.findall(r"```promql\n(.*?)```", page.read_text(), re.DOTALL)
        for query in block.splitlines()
    ]
    assert len(queries) > len(RUNBOOKS) > 20
    rules = [{"record": f"query{number}", "expr": query} for number, query in enumerate(queries)]
    assert check(json.dumps({"groups": [{"name": "runbooks", "rules": rules}]}), tmp_path) == len(queries)
