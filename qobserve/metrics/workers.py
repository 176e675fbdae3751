"""Who serves the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector
from qobserve.metrics.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Samples

WORKERS = Family(
    "bullmq_queue_workers",
    "gauge",
    "Workers connected to Redis for this queue, whatever their concurrency; absent where connections cannot be listed.",
)


def _collect(facts: Facts) -> Iterator[Samples]:
    yield WORKERS.samples((queue, seen.workers.count) for queue, seen, _ in facts.queues if seen.workers is not None)


COLLECTOR = Collector("workers", (WORKERS,), _collect)
