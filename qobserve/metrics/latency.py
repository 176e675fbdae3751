"""How long jobs waited and ran, as histograms of the events; both begin with a queue's first event."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from qobserve.metrics.book import SHOWN
from qobserve.metrics.collector import Collector, OfBook
from qobserve.metrics.exemplar import printed
from qobserve.metrics.family import OF_QUEUE, Family, Lines, label, number
from qobserve.metrics.throughput import version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qobserve.metrics.book import Book, Durations
    from qobserve.metrics.histogram import Histogram

WAIT = Family(
    "bullmq_job_wait_duration_seconds",
    "histogram",
    "From when a worker could have taken a job until one did, once for each run of which both moments are known.",
    OF_QUEUE,
    ("name",),
)
PROCESSING = Family(
    "bullmq_job_processing_duration_seconds",
    "histogram",
    "From when a worker took a job until that run ended, whatever its outcome; runs that were removed are not in it.",
    OF_QUEUE,
    ("name",),
)


_MOST_HEADS = 20_000
_PLAIN_BELOW = 1_000_000
"""Up to here a count is printed as it is, with `.0` behind it."""


@lru_cache(maxsize=_MOST_HEADS)
def _heads(name: str, labels: str, bounds: tuple[float, ...]) -> tuple[str, ...]:
    """What stands before the value of each bucket; the last one has no bound."""
    bound_labels = (label("le", text) for text in (*map(number, bounds), "+Inf"))
    return tuple(f"{name}_bucket{{{bound},{labels}}} " for bound in bound_labels)


def _histogram(name: str, labels: str, histogram: Histogram, *, shown: bool) -> Lines:
    counts = histogram.cumulative() if shown else [0] * (len(histogram.bounds) + 1)
    heads = _heads(name, labels, histogram.bounds)
    if counts[-1] < _PLAIN_BELOW:
        buckets = [f"{head}{count}.0" for head, count in zip(heads, counts, strict=True)]
    else:
        buckets = [f"{head}{number(count)}" for head, count in zip(heads, counts, strict=True)]
    ends = (
        f"{name}_count{{{labels}}} {number(counts[-1])}",
        f"{name}_sum{{{labels}}} {number(histogram.sum_ms / 1000 if shown else 0)}",
        "",
    )
    plain = exemplified = "\n".join((*buckets, *ends))
    if shown and histogram.exemplars:
        for place, exemplar in histogram.exemplars.items():
            buckets[place] += printed(exemplar)
        exemplified = "\n".join((*buckets, *ends))
    return Lines(plain, exemplified)


def _source(family: Family, of: Callable[[Durations], Histogram]) -> OfBook:
    """A family that shows one of the two durations."""
    name = family.name

    def told(book: Book) -> Iterator[Lines]:
        for series in book.series():
            durations = series.durations
            if durations is not None:
                yield _histogram(name, series.labels, of(durations), shown=durations.stage >= SHOWN)

    def lines(book: Book) -> Lines:
        blocks = list(told(book))
        return Lines("".join([each.plain for each in blocks]), "".join([each.exemplified for each in blocks]))

    return OfBook(family, lines, version)


COLLECTOR = Collector(
    "latency",
    (
        _source(WAIT, lambda durations: durations.wait),
        _source(PROCESSING, lambda durations: durations.processing),
    ),
)
