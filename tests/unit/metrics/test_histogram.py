"""Durations in buckets, as a slow count of them would have it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qobserve.metrics.histogram import Histogram

BOUNDS = (0.01, 0.57, 1.0, 21600.0)


@given(st.lists(st.integers(-5, 90_000_000) | st.sampled_from([10, 11, 570, 571, 1000, 21_600_000])))
def test_each_bound_counts_what_is_not_longer(durations: list[int]) -> None:
    histogram = Histogram(BOUNDS)
    for duration in durations:
        histogram.observe(duration, None, 0)

    whole = [max(duration, 0) for duration in durations]
    assert histogram.cumulative() == [
        sum(duration <= round(bound * 1000) for duration in whole) for bound in BOUNDS
    ] + [len(whole)]
    assert histogram.sum_ms == sum(whole)
    assert histogram.exemplars == {}


def test_each_bucket_keeps_its_newest_exemplar() -> None:
    histogram = Histogram(BOUNDS)
    for duration, context, ms in ((20, "a", 1), (30, "b", 2), (40, None, 3), (10, "c", 4), (10**9, "d", 5)):
        histogram.observe(duration, context, ms)

    assert histogram.exemplars == {1: ("b", 0.03, 2), 0: ("c", 0.01, 4), 4: ("d", 1_000_000.0, 5)}
