"""Who serves the queue."""

from __future__ import annotations

from qobserve.metrics.collector import Collector, value
from qobserve.metrics.family import Family

WORKERS = Family(
    "bullmq_queue_workers",
    "gauge",
    "Workers connected to Redis for this queue, whatever their concurrency; absent where connections cannot be listed.",
)


COLLECTOR = Collector(
    "workers", (value(WORKERS, lambda queue: None if queue.workers is None else queue.workers.count),)
)
