"""PromQL from metric families."""

from __future__ import annotations

import pytest

from qobserve.alerts.options import AlertOptions, Terms
from qobserve.alerts.promql import (
    UnknownLabelError,
    count_increase,
    duration,
    increase,
    plain,
    select,
)
from qobserve.metrics import age, events, latency, throughput

TERMS = Terms(options=AlertOptions(), wait_bounds=(1.0,))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "250ms"), (1, "1s"), (90, "90s"), (60, "1m"), (5400, "90m"), (21600, "6h"), (259200, "3d"), (0, "0ms")],
)
def test_a_time_is_written_with_its_largest_whole_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("number", "text"), [(300.0, "300"), (14.4, "14.4"), (1234567.5, "1234567.5"), (0.99, "0.99")])
def test_a_number_is_written_in_full(number: float, text: str) -> None:
    assert plain(number) == text


def test_a_series_is_of_the_job() -> None:
    assert select(TERMS, events.LAG) == 'bullmq_events_lag_seconds{job="qobserve"}'
    hostile = Terms(options=AlertOptions(job='a"\\b'), wait_bounds=())
    assert select(hostile, events.LAG) == 'bullmq_events_lag_seconds{job="a\\"\\\\b"}'


def test_one_of_several_values_of_a_label() -> None:
    name = "bullmq_queue_oldest_job_age_seconds"
    assert select(TERMS, age.OLDEST, state="failed") == f'{name}{{job="qobserve",state="failed"}}'
    assert select(TERMS, age.OLDEST, state="failed|active") == f'{name}{{job="qobserve",state=~"failed|active"}}'


def test_a_label_that_the_family_does_not_have() -> None:
    with pytest.raises(UnknownLabelError, match="bullmq_events_lag_seconds has no label reason, state"):
        select(TERMS, events.LAG, state="failed", reason="paused")


def test_job_names_are_summed_away_where_they_can_be_there() -> None:
    assert increase(TERMS, events.MISSED, 60) == 'increase(bullmq_events_missed_total{job="qobserve"}[1m])'
    assert increase(TERMS, throughput.FAILED, 60) == (
        'sum without (name) (increase(bullmq_jobs_failed_total{job="qobserve"}[1m]))'
    )
    assert count_increase(TERMS, latency.WAIT, 3600) == (
        'sum without (name) (increase(bullmq_job_wait_duration_seconds_count{job="qobserve"}[1h]))'
    )
