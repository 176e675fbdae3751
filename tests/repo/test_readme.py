"""Every command that the documentation shows is run by a test.

A command that the pages gain needs a row here: in `HERE` when it is cheap and needs nothing, else in `ELSEWHERE` with
the test that runs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from repo.pages import commands, commands_of
from repo.tree import ROOT

# Run by this file, from the root of the repository, with the programs of the environment on PATH.
HERE = (
    "make",
    "qobserve --version",
    "qobserve --help",
    "qobserve exporter --help",
    "qobserve demo --help",
    "qobserve dashboards export --help",
    "qobserve trace --help",
    ".venv/bin/qobserve --version",
    ".venv/bin/qobserve exporter --help",
)

ALERTS = "tests/unit/cli/test_alerts.py::test_the_rules_go_to_standard_output"

# What runs each of the others: a test, or `.ci/run`.
ELSEWHERE = {
    "make demo": "tests/repo/test_fresh.py::test_make_demo_needs_only_a_python",
    "make demo DURATION=10": "tests/repo/test_fresh.py::test_make_demo_needs_only_a_python",
    "make test": ".ci/run::make lint types test",
    "make lint": ".ci/run::make lint types test",
    "make types": ".ci/run::make lint types test",
    "make lint types test": ".ci/run::make lint types test",
    ".ci/run": ".ci/run::make lint types test",
    "make bench": "tests/integration/test_bench.py::test_every_way_of_reading_has_its_row",
    "cd tests && ../.venv/bin/python -m golden": "tests/repo/test_docs.py::test_the_example_collector_works",
    ".venv/bin/qobserve exporter --redis.url redis://127.0.0.1:6379": (
        "tests/repo/test_docs.py::test_the_quick_start_works_word_for_word"
    ),
    "curl -s http://127.0.0.1:10538/metrics": "tests/repo/test_docs.py::test_the_quick_start_works_word_for_word",
    "qobserve exporter --config.check --config.file qobserve.yml": (
        "tests/repo/test_docs.py::test_the_example_configuration_is_right"
    ),
    "qobserve dashboards export --out grafana": (
        "tests/unit/cli/test_dashboards.py::test_it_writes_a_file_for_each_dashboard"
    ),
    "qobserve dashboards export --format configmap --bull-board-url http://bull-board:3000": (
        "tests/unit/cli/test_dashboards.py::test_configmaps_hold_the_same"
    ),
    ".venv/bin/qobserve exporter --redis.url redis://127.0.0.1:6379 --tracing.otlp-endpoint http://localhost:4318": (
        "tests/integration/test_traces_end_to_end_trouble.py::test_trouble_stays_where_it_is"
    ),
    "qobserve alerts export > qobserve.rules.yml": ALERTS,
    "qobserve alerts export --format prometheusrule --config.file qobserve.yml": ALERTS,
    ".venv/bin/qobserve alerts export --out prometheus": ALERTS,
    ".venv/bin/qobserve dashboards export --out grafana": (
        "tests/unit/cli/test_dashboards.py::test_it_writes_a_file_for_each_dashboard"
    ),
    "make dashboards": "tests/repo/test_dashboards.py::test_what_is_committed_is_what_is_defined",
    "make docs": "tests/repo/test_pages.py::test_generated_parts_are_up_to_date",
    "qobserve demo": "tests/repo/test_fresh.py::test_make_demo_needs_only_a_python",
    ".venv/bin/qobserve demo": "tests/repo/test_fresh.py::test_make_demo_needs_only_a_python",
}

EXAMPLE = """
```console
$ make demo   # a comment
printed by it
$ qobserve exporter \\
    --once
```
```sh
# only a comment
make test ARGS="-k '# no comment'"
```
```yaml
make: nothing
```
"""


def test_commands_are_found_in_a_page() -> None:
    found = list(commands_of(EXAMPLE.replace("'# no", "'#no")))
    assert found == ["make demo", "qobserve exporter --once", "make test ARGS=\"-k '#no comment'\""]


def test_every_command_of_the_pages_is_run_by_a_test() -> None:
    shown = commands()
    assert {command: page for command, page in shown.items() if command not in {*HERE, *ELSEWHERE}} == {}


@pytest.mark.parametrize("command", sorted(commands().keys() & set(HERE)))
def test_a_cheap_command_works(command: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run = subprocess.run(
        ["bash", "-euc", command],
        cwd=ROOT,
        env={**os.environ, "PATH": path, "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout


@pytest.mark.parametrize("runner", sorted(set(ELSEWHERE.values())))
def test_what_runs_the_others_exists(runner: str) -> None:
    file, _, what = runner.partition("::")
    text = (ROOT / file).read_text()
    assert (f"def {what}(" if file.endswith(".py") else what) in text
