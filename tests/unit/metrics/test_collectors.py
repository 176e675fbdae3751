"""Rules that all families keep, whatever they tell."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from golden.page import looked_twice
from golden.printed import rows
from prometheus_client.parser import text_string_to_metric_families

from qobserve.config import COLLECTOR_NAMES, Slo
from qobserve.metrics import COLLECTORS
from qobserve.metrics.exporter import BUILD_INFO, OF_SCRAPE, build_samples
from qobserve.metrics.exposition import TEXT, render

if TYPE_CHECKING:
    from qobserve.metrics.family import Family

FAMILIES = (*OF_SCRAPE, BUILD_INFO, *(family for collector in COLLECTORS for family in collector.families))
SAMPLES = [
    build_samples(),
    *looked_twice(slo=lambda _: Slo(wait=1, objective=0.5)),
]
ROWS = {samples.family: rows(samples) for samples in SAMPLES}
BASE_UNITS = ("_seconds", "_bytes", "_ratio")
OTHER_UNITS = re.compile(
    r"(?:^|_)(?:ms|milli\w*|micro\w*|minutes?|hours?|days?|kb|mb|gb|kilo\w*|mega\w*|percent\w*|byte|second|count|number)(?:_|$)"
)
DUE = {
    "bullmq_up": (),
    "bullmq_scrape_duration_seconds": (),
    "bullmq_collector_success": ("collector",),
    "bullmq_queue_jobs": ("prefix", "queue", "state"),
    "bullmq_queue_oldest_job_age_seconds": ("prefix", "queue", "state"),
    "bullmq_queue_delayed_overdue_seconds": ("prefix", "queue"),
    "bullmq_queue_ready_jobs": ("prefix", "queue"),
    "bullmq_queue_paused": ("prefix", "queue"),
    "bullmq_queue_workers": ("prefix", "queue"),
    "bullmq_queue_concurrency_limit": ("prefix", "queue"),
    "bullmq_queue_rate_limited_seconds": ("prefix", "queue"),
    "bullmq_queue_blocked": ("prefix", "queue", "reason"),
    "bullmq_queue_info": ("layout", "library", "prefix", "queue", "version"),
    "bullmq_queue_add_attempts_total": ("prefix", "queue"),
    "bullmq_queue_events_total": ("prefix", "queue"),
    "bullmq_jobs_completed_total": ("prefix", "queue"),
    "bullmq_jobs_failed_total": ("prefix", "queue"),
    "bullmq_jobs_added_total": ("prefix", "queue"),
    "bullmq_jobs_retried_total": ("prefix", "queue"),
    "bullmq_jobs_stalled_total": ("prefix", "queue"),
    "bullmq_jobs_delayed_total": ("prefix", "queue"),
    "bullmq_jobs_deduplicated_total": ("prefix", "queue"),
    "bullmq_jobs_removed_total": ("prefix", "queue"),
    "bullmq_jobs_retries_exhausted_total": ("prefix", "queue"),
    "bullmq_job_attempts_failed_total": ("prefix", "queue"),
    "bullmq_job_wait_duration_seconds": ("prefix", "queue"),
    "bullmq_job_processing_duration_seconds": ("prefix", "queue"),
    "bullmq_queue_drain_seconds": ("prefix", "queue"),
    "bullmq_events_missed_total": ("prefix", "queue"),
    "bullmq_events_lag_seconds": ("prefix", "queue"),
    "bullmq_queue_counters_partial": ("counter", "prefix", "queue"),
    "bullmq_queue_slo_wait_seconds": ("prefix", "queue"),
    "bullmq_queue_slo_objective_ratio": ("prefix", "queue"),
    "bullmq_job_scheduler_next_run_timestamp_seconds": ("prefix", "queue", "scheduler"),
    "bullmq_job_schedulers": ("prefix", "queue"),
    "bullmq_job_data_bytes": ("prefix", "queue"),
    "bullmq_redis_info": ("mode", "role", "server", "version"),
    "bullmq_redis_eviction_safe": (),
    "bullmq_redis_aof_enabled": (),
    "bullmq_redis_evicted_keys_total": (),
    "bullmq_redis_memory_ratio": (),
    "bullmq_exporter_build_info": ("python_version", "version"),
    "bullmq_series_dropped_total": ("reason",),
}
"""What dashboards and alerts build on: a name or label that goes away breaks them."""

each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)


def test_what_others_build_on_is_there() -> None:
    declared = {family.name: family.labels for family in FAMILIES}

    assert {name: declared.get(name) for name in DUE} == DUE


def test_no_name_is_used_twice() -> None:
    # In OpenMetrics a counter's family has no `_total`, and may not meet another family there.
    names = Counter(family.name.removesuffix("_total") for family in FAMILIES)

    assert [name for name, times in names.items() if times > 1] == []


def test_each_collector_can_be_switched_off_by_its_name() -> None:
    assert tuple(collector.name for collector in COLLECTORS) == COLLECTOR_NAMES


@each_family
def test_names(family: Family) -> None:
    assert re.fullmatch(r"bullmq(?:_[a-z]+)+", family.name)
    assert family.name.endswith("_total") == (family.type == "counter")
    assert not family.name.endswith(("_bucket", "_sum", "_created"))
    assert not OTHER_UNITS.search(family.name)
    assert [unit for unit in BASE_UNITS if unit in family.name and not family.name.endswith(unit)] == []


@each_family
def test_help_is_text_that_ends_with_a_dot(family: Family) -> None:
    assert re.fullmatch(r"[A-Z0-9][^\n\\\"]{10,}\.", family.help)


@each_family
def test_labels_are_declared_as_they_are_printed(family: Family) -> None:
    printed = {tuple(re.findall(r'(?:^|,| )(?!le=)([a-z_]+)="(?:[^"\\]|\\.)*"', labels)) for labels, _ in ROWS[family]}

    assert printed == {family.labels}
    assert list(family.labels) == sorted(set(family.labels))
    # Whatever else may be printed comes before the queue's own labels, which end with them.
    assert [name for name in family.optional if not name < "prefix"] == []


@each_family
def test_values_are_finite_numbers(family: Family) -> None:
    values = [value for _, value in ROWS[family]]

    assert values
    assert [value for value in values if not math.isfinite(value)] == []


def test_every_series_is_printed_once() -> None:
    page = text_string_to_metric_families(render(SAMPLES, TEXT).decode())
    series = Counter((sample.name, *sorted(sample.labels.items())) for family in page for sample in family.samples)

    assert [one for one, times in series.items() if times > 1] == []
    assert len(series) == sum(map(len, ROWS.values()))
