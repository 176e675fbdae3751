"""Histograms on the page, as prometheus_client prints and reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden.page import EMPTY, NOW_MS, TRACED, UNTRACED
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from qobserve.config import MetricsSettings
from qobserve.metrics.collection import Collection
from qobserve.metrics.exposition import OPENMETRICS, TEXT, render
from qobserve.metrics.latency import COLLECTOR, PROCESSING, WAIT
from qobserve.metrics.tally import Tally
from qobserve.model.run import Started
from qobserve.model.snapshot import ServerSnapshot, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.family import Samples

BOUNDS = (0.005, 1.0, 30.0, 1e6, 2.5e6)
TRACE = "0af7651916cd43dd8448eb211c80319c"
LOOK = Snapshot(servers=(ServerSnapshot(now_ms=NOW_MS, queues=(EMPTY,)),))


def waited(*durations: int, times: int = 1, first: bool = False) -> list[Samples]:
    """The second look after these waits, of which every second one has a trace; or the first, which shows zeros."""
    tally = Tally(MetricsSettings(wait_buckets=BOUNDS, processing_buckets=(1.0,)))
    for number, duration in enumerate(durations):
        card, ready = (TRACED if number % 2 else UNTRACED), NOW_MS - duration
        tally.take(Started(queue=EMPTY.queue, job="1", live=True, started_ms=NOW_MS, ready_ms=ready, card=card))
    book = tally.book('prefix="bull",queue="idle"')
    if book is not None and book.only is not None and book.only.durations is not None:
        counts = book.only.durations.wait.counts
        counts[:] = [count * times for count in counts]
    collection = Collection(enabled={}, slo=lambda _: None, collectors=(COLLECTOR,), tally=tally)
    if not first:
        collection.collect(LOOK)
    return [each for each in collection.collect(LOOK) if each.family in COLLECTOR.families]


class Theirs:
    """The same as prometheus_client's own objects."""

    def __init__(self, durations: list[int], times: int) -> None:
        self._durations = durations
        self._times = times

    def collect(self) -> Iterator[HistogramMetricFamily]:
        of_queue = (EMPTY.queue.prefix, EMPTY.queue.name)
        for family, bounds, durations in ((WAIT, BOUNDS, self._durations), (PROCESSING, (1.0,), [])):
            metric = HistogramMetricFamily(family.name, family.help, labels=("prefix", "queue"))
            texts = [(str(bound) if bound < 1e6 else f"{bound:g}", bound) for bound in bounds]
            buckets = [
                (text, self._times * sum(each <= bound * 1000 for each in durations))
                for text, bound in [*texts, ("+Inf", float("inf"))]
            ]
            metric.add_metric(of_queue, buckets, sum(durations) / 1000)
            yield metric


@given(durations=st.lists(st.integers(0, 3 * 10**9), min_size=1), times=st.sampled_from([1, 999_999, 1_000_000]))
def test_a_histogram_is_as_prometheus_client_prints_it(durations: list[int], times: int) -> None:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Theirs(durations, times))
    ours = render(waited(*durations, times=times), TEXT)

    # Bounds from a million on are printed with an exponent, of two digits, as Go does.
    assert ours == generate_latest(registry)


def test_exemplars_are_openmetrics_only_and_their_own_buckets() -> None:
    told = waited(10, 900, 901, 20_000, 21_000, 10**10)
    buckets = [
        (sample.labels["le"], sample.value, sample.exemplar)
        for family in text_string_to_metric_families(render(told, OPENMETRICS).decode())
        for sample in family.samples
        if sample.name == "bullmq_job_wait_duration_seconds_bucket"
    ]

    assert [(bound, value) for bound, value, _ in buckets] == [
        ("0.005", 0), ("1.0", 3), ("30.0", 5), ("1e+06", 5), ("2.5e+06", 5), ("+Inf", 6),
    ]  # fmt: skip
    shown = {bound: exemplar for bound, _, exemplar in buckets if exemplar is not None}
    assert {bound: (each.labels, each.value) for bound, each in shown.items()} == {
        "1.0": ({"trace_id": TRACE}, 0.9),
        "30.0": ({"trace_id": TRACE}, 20.0),
        "+Inf": ({"trace_id": TRACE}, 10_000_000.0),
    }
    assert [float(each.timestamp) for each in shown.values()] == pytest.approx([NOW_MS / 1000] * 3)
    assert b"#" not in render(told, TEXT).replace(b"# HELP ", b"").replace(b"# TYPE ", b"")


def test_a_histogram_that_is_shown_as_0_points_to_no_trace() -> None:
    assert b" # {" not in render(waited(10, 900, first=True), OPENMETRICS)
