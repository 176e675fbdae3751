"""How the scrape itself went, and who serves it."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from golden.page import SNAPSHOT
from golden.printed import rows

import qobserve
from qobserve.metrics.exporter import OF_SCRAPE, build_samples, scrape_samples
from qobserve.model.snapshot import Snapshot, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping


def told(snapshot: Snapshot, succeeded: Mapping[str, bool], dropped: Mapping[str, int]) -> dict[str, dict[str, float]]:
    samples = list(scrape_samples(snapshot, succeeded, dropped))
    assert tuple(one.family for one in samples) == OF_SCRAPE
    return {one.family.name: dict(rows(one)) for one in samples}


def test_a_scrape_that_went_well_but_for_one_collector() -> None:
    assert told(SNAPSHOT, {"depth": True, "age": False}, {"collision": 2}) == {
        "bullmq_up": {"": 1},
        "bullmq_scrape_duration_seconds": {"": 0.015625},
        "bullmq_collector_success": {'collector="depth"': 1, 'collector="age"': 0},
        "bullmq_queues": {"": 3},
        "bullmq_discovery_duration_seconds": {"": 0.25},
        "bullmq_series_dropped_total": {'reason="collision"': 2},
    }


def test_a_redis_that_is_down_has_no_known_number_of_queues() -> None:
    down = Snapshot(trouble=Trouble(reason="unreachable", message="connection refused"), duration_seconds=2.0)

    assert told(down, {"depth": False}, {}) == {
        "bullmq_up": {"": 0},
        "bullmq_scrape_duration_seconds": {"": 2.0},
        "bullmq_collector_success": {'collector="depth"': 0},
        "bullmq_queues": {},
        "bullmq_discovery_duration_seconds": {},
        "bullmq_series_dropped_total": {},
    }


def test_who_serves() -> None:
    labels = f'python_version="{platform.python_version()}",version="{qobserve.__version__}"'

    assert rows(build_samples()) == [(labels, 1)]
