"""A histogram of durations: counts by upper bound, their sum, and the newest exemplar of each bucket."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qobserve.metrics.exemplar import Exemplar


class Histogram:
    """Durations, in buckets.

    Args:
        bounds: Upper bounds in seconds, rising; each belongs to its bucket. Beyond the last there is one more.
    """

    __slots__ = ("bounds", "counts", "exemplars", "sum_ms")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum_ms = 0
        self.exemplars: dict[int, Exemplar] = {}

    def observe(self, duration_ms: int, context: str | None, ms: int) -> None:
        """Take one duration, seen at `ms`; a negative one (events out of order) counts as 0."""
        duration_ms = max(duration_ms, 0)
        seconds = duration_ms / 1000
        bucket = bisect_left(self.bounds, seconds)
        self.counts[bucket] += 1
        self.sum_ms += duration_ms
        if context is not None:
            self.exemplars[bucket] = (context, seconds, ms)

    def cumulative(self) -> list[int]:
        """For each bound, and at last without one, how many durations were not longer."""
        return list(accumulate(self.counts))
