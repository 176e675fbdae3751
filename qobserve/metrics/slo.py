"""The promises that were set for queues, so that alert rules can be generic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector, OfQueue
from qobserve.metrics.family import Family
from qobserve.metrics.merge import Merge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Seen
    from qobserve.metrics.family import Row

WAIT = Family(
    "bullmq_queue_slo_wait_seconds",
    "gauge",
    "Within what time a job should start, by the settings; absent where nothing was promised.",
)
OBJECTIVE = Family(
    "bullmq_queue_slo_objective_ratio",
    "gauge",
    "What share of the jobs should start in time, by the settings; absent where nothing was promised.",
)


def _wait(queue: str, seen: Seen) -> Iterator[Row]:
    if seen.slo is not None and seen.slo.wait is not None:
        yield queue, seen.slo.wait


def _objective(queue: str, seen: Seen) -> Iterator[Row]:
    if seen.slo is not None and seen.slo.objective is not None:
        yield queue, seen.slo.objective


COLLECTOR = Collector("slo", (OfQueue(WAIT, _wait, merge=Merge.MIN), OfQueue(OBJECTIVE, _objective, merge=Merge.MAX)))
