"""What holds a queue back, by design or by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector, OfQueue, value
from qobserve.metrics.family import OF_QUEUE, Family, label
from qobserve.metrics.merge import Merge
from qobserve.model.blocked import Reason, lateness, reasons

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Seen
    from qobserve.metrics.family import Row

PAUSED = Family("bullmq_queue_paused", "gauge", "1 when the queue is paused, 0 when not.")
CONCURRENCY_LIMIT = Family(
    "bullmq_queue_concurrency_limit",
    "gauge",
    "How many jobs of the queue may be active at once over all workers; absent without a global limit.",
)
RATE_LIMITED = Family(
    "bullmq_queue_rate_limited_seconds",
    "gauge",
    "For how long no worker will take a job because of a rate limit; 0 when not limited, absent when only the workers "
    "know their limit and jobs are running.",
)
UNLOCKED = Family(
    "bullmq_queue_unlocked_jobs",
    "gauge",
    "Active jobs that no living worker holds, among the longest-running ones looked at; they will be stalled.",
)
BLOCKED = Family(
    "bullmq_queue_blocked",
    "gauge",
    "1 for each reason that keeps work from being done now: ready jobs in a queue that is paused, rate_limited, "
    "without workers (no_workers) or at its global limit (concurrency_reached); a scheduler_overdue by more than 5 s; "
    "active jobs that no living worker holds (stalled).",
    (*OF_QUEUE, "reason"),
)

_OF_REASON = {reason: "," + label("reason", reason) for reason in Reason}


def _blocked(queue: str, seen: Seen) -> Iterator[Row]:
    for reason, holds in reasons(seen.queue, seen.now_ms).items():
        yield queue + _OF_REASON[reason], int(holds)


COLLECTOR = Collector(
    "limits",
    (
        value(PAUSED, lambda queue: queue.paused, merge=Merge.MAX),
        value(CONCURRENCY_LIMIT, lambda queue: queue.concurrency_limit, merge=Merge.MIN),
        value(RATE_LIMITED, lambda queue: queue.rate_limited_ms, per=1000, merge=Merge.MAX),
        value(UNLOCKED, lambda queue: queue.unlocked),
        OfQueue(BLOCKED, _blocked, hinge=lambda seen: lateness(seen.queue, seen.now_ms), merge=Merge.MAX),
    ),
)
