"""Job schedulers, and the repeatable jobs of older versions: when each is to run next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector, OfQueue, value
from qobserve.metrics.family import OF_QUEUE, Family, label
from qobserve.metrics.merge import Merge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Seen
    from qobserve.metrics.family import Row

SCHEDULERS = Family("bullmq_job_schedulers", "gauge", "Job schedulers (up to BullMQ 4: repeatable jobs) of the queue.")
NEXT_RUN = Family(
    "bullmq_job_scheduler_next_run_timestamp_seconds",
    "gauge",
    "When a scheduler's next job is to run, as a Unix timestamp; in the past for one that is overdue. Only the first "
    "due of each queue are shown (collector.schedulers.limit).",
    (*OF_QUEUE, "scheduler"),
)


def _next_runs(queue: str, seen: Seen) -> Iterator[Row]:
    for scheduler in seen.queue.schedulers:
        yield f"{queue},{label('scheduler', scheduler.id)}", scheduler.next_ms / 1000


COLLECTOR = Collector(
    "schedulers",
    (value(SCHEDULERS, lambda queue: queue.scheduler_count), OfQueue(NEXT_RUN, _next_runs, merge=Merge.MIN)),
)
