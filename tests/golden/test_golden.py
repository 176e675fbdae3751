"""The whole text of a scrape: as it was agreed on, and as others read it."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics_parser
from rig.programs import missing

from golden.page import FILES, text
from qobserve.metrics import COLLECTORS
from qobserve.metrics.exporter import OF_SCRAPE
from qobserve.metrics.exposition import OPENMETRICS, TEXT

if TYPE_CHECKING:
    from pathlib import Path

PATHS = {content_type: path for path, content_type in FILES.items()}


@pytest.mark.parametrize(("path", "content_type"), FILES.items(), ids=lambda value: getattr(value, "name", ""))
def test_the_page_is_the_golden_one(path: Path, content_type: str) -> None:
    # Meant to change? Write it anew (`cd tests && python -m golden`) and read the difference.
    assert text(content_type).decode() == path.read_text()


def test_promtool_has_no_complaint() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        missing("no promtool on PATH: the system's package prometheus holds it")

    done = subprocess.run(
        [promtool, "check", "metrics"], input=text(TEXT), capture_output=True, timeout=20, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_both_parsers_of_prometheus_client_read_the_same() -> None:
    classic = samples(parser.text_string_to_metric_families(PATHS[TEXT].read_text()))
    modern = samples(openmetrics_parser.text_string_to_metric_families(PATHS[OPENMETRICS].read_text()))

    assert classic == modern
    assert ("bullmq_queue_jobs", 'mail "\\\n日\\xff', "paused", 3.0) in {
        (name, labels.get("queue"), labels.get("state"), value) for name, labels, value in classic
    }


def samples(families: object) -> list[tuple[str, dict[str, str], float]]:
    return [(s.name, s.labels, s.value) for family in families for s in family.samples]  # type: ignore[attr-defined]  # the parsers are untyped


def test_every_family_is_on_the_page() -> None:
    page = openmetrics_parser.text_string_to_metric_families(PATHS[OPENMETRICS].read_text())
    declared = [family for collector in COLLECTORS for family in collector.families]

    assert {(family.name, family.type) for family in page} == {
        (family.name.removesuffix("_total"), family.type) for family in (*OF_SCRAPE, *declared)
    }
