"""What holds a queue back, by design or by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector
from qobserve.metrics.family import OF_QUEUE, Family, label
from qobserve.model.blocked import Reason, reasons

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Samples

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
BLOCKED = Family(
    "bullmq_queue_blocked",
    "gauge",
    "1 for each reason that keeps work from being done now: ready jobs in a queue that is paused, rate_limited, "
    "without workers (no_workers) or at its global limit (concurrency_reached); a scheduler_overdue by more than 5 s; "
    "active jobs that no living worker holds (stalled).",
    (*OF_QUEUE, "reason"),
)

_OF_REASON = {reason: "," + label("reason", reason) for reason in Reason}


def _collect(facts: Facts) -> Iterator[Samples]:
    queues = facts.queues
    yield PAUSED.samples((queue, int(seen.paused)) for queue, seen, _ in queues if seen.paused is not None)
    yield CONCURRENCY_LIMIT.samples(
        (queue, seen.concurrency_limit) for queue, seen, _ in queues if seen.concurrency_limit is not None
    )
    yield RATE_LIMITED.samples(
        (queue, seen.rate_limited_ms / 1000) for queue, seen, _ in queues if seen.rate_limited_ms is not None
    )
    yield BLOCKED.samples(
        (queue + _OF_REASON[reason], int(holds))
        for queue, seen, now_ms in queues
        for reason, holds in reasons(seen, now_ms).items()
    )


COLLECTOR = Collector("limits", (PAUSED, CONCURRENCY_LIMIT, RATE_LIMITED, BLOCKED), _collect)
