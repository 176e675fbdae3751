"""How large job payloads are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector
from qobserve.metrics.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Samples

DATA_BYTES = Family(
    "bullmq_job_data_bytes",
    "gauge",
    "Largest payload (the field data, in bytes) among the jobs sampled at the ends of the queue; absent when none was.",
)


def _collect(facts: Facts) -> Iterator[Samples]:
    yield DATA_BYTES.samples((queue, seen.data_bytes) for queue, seen, _ in facts.queues if seen.data_bytes is not None)


COLLECTOR = Collector("payload", (DATA_BYTES,), _collect)
