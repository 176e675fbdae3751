"""How large job payloads are."""

from __future__ import annotations

from qobserve.metrics.collector import Collector, value
from qobserve.metrics.family import Family
from qobserve.metrics.merge import Merge

DATA_BYTES = Family(
    "bullmq_job_data_bytes",
    "gauge",
    "Largest payload (the field data, in bytes) among the jobs sampled at the ends of the queue; absent when none was.",
)


COLLECTOR = Collector("payload", (value(DATA_BYTES, lambda queue: queue.data_bytes, merge=Merge.MAX),))
