"""Expressions are made of families: names and labels that the code does not have cannot be written."""

from __future__ import annotations

import pytest

from qobserve.metrics import exporter, latency, limits, throughput
from qobserve.metrics.depth import JOBS
from qobserve.panels.promql import (
    MANY,
    OF_JOB,
    ONE,
    UnknownLabelError,
    at_end,
    increase,
    or_zero,
    quantile,
    rate,
    rate_at_end,
    select,
    top,
    whole,
)

TARGET = 'job=~"$job",bullmq_target=~"$target"'
QUEUES = f'{TARGET},prefix=~"$prefix",queue=~"$queue"'


def test_many_queues_are_chosen_by_a_pattern_and_one_literally() -> None:
    assert select(limits.PAUSED, MANY) == f"bullmq_queue_paused{{{QUEUES}}}"
    assert select(limits.PAUSED, ONE) == f'bullmq_queue_paused{{{TARGET},prefix="$prefix",queue="$queue"}}'


def test_a_family_of_the_server_has_no_queue() -> None:
    assert select(exporter.UP) == f"bullmq_up{{{TARGET}}}"
    with pytest.raises(UnknownLabelError, match="bullmq_up has no label prefix, queue"):
        select(exporter.UP, MANY)


def test_further_labels_take_one_value_or_several() -> None:
    assert select(JOBS, MANY, state="active").endswith(',state="active"}')
    assert select(JOBS, MANY, state="waiting|paused").endswith(',state=~"waiting|paused"}')


def test_a_label_that_the_family_lacks_is_refused() -> None:
    with pytest.raises(UnknownLabelError, match="bullmq_queue_paused has no label state"):
        select(limits.PAUSED, MANY, state="active")


def test_the_exporter_itself_belongs_to_no_target() -> None:
    assert select(exporter.BUILD_INFO, of=OF_JOB) == 'bullmq_exporter_build_info{job=~"$job"}'


def test_counters_are_added_up_over_job_names_where_they_may_have_them() -> None:
    series = f"bullmq_jobs_completed_total{{{QUEUES}}}"
    assert rate(throughput.COMPLETED, MANY) == f"sum without (name) (rate({series}[$__rate_interval]))"
    assert increase(throughput.COMPLETED, MANY) == f"sum without (name) (increase({series}[$__range]))"
    assert rate_at_end(throughput.COMPLETED, MANY) == f"sum without (name) (rate({series}[$__range] @ end()))"
    assert rate(throughput.EVENTS, MANY) == f"rate(bullmq_queue_events_total{{{QUEUES}}}[$__rate_interval])"


def test_quantiles_come_from_buckets() -> None:
    series = f'bullmq_job_wait_duration_seconds_bucket{{{TARGET},prefix="$prefix",queue="$queue"}}'
    assert quantile(0.95, latency.WAIT, ONE) == (
        f"histogram_quantile(0.95, sum by (le) (rate({series}[$__rate_interval])))"
    )
    assert "sum by (le, name)" in quantile(0.95, latency.WAIT, ONE, by=("name",))


def test_the_same_series_are_drawn_at_each_moment() -> None:
    ranked = at_end("x")
    assert ranked == "max_over_time(x[$__range] @ end())"
    assert top(10, "y", ranked) == "(y) and topk(10, max_over_time(x[$__range] @ end()))"


def test_small_ones() -> None:
    assert whole("max", "state", "x") == "max without (state) (x)"
    assert or_zero("count(x)") == "count(x) or vector(0)"
