"""The promises that were set for queues, so that alert rules can be generic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector
from qobserve.metrics.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Samples

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


def _collect(facts: Facts) -> Iterator[Samples]:
    promises = [(queue, slo) for queue, seen, _ in facts.queues if (slo := facts.slo(seen.queue)) is not None]
    yield WAIT.samples((queue, slo.wait) for queue, slo in promises if slo.wait is not None)
    yield OBJECTIVE.samples((queue, slo.objective) for queue, slo in promises if slo.objective is not None)


COLLECTOR = Collector("slo", (WAIT, OBJECTIVE), _collect)
