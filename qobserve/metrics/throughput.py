"""What went through: the counters that Redis itself keeps, which survive trimming and auto-removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector
from qobserve.metrics.family import Family

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Samples
    from qobserve.model.snapshot import QueueSnapshot

ADD_ATTEMPTS = Family(
    "bullmq_queue_add_attempts_total",
    "counter",
    "Attempts to add a job, rejected duplicates and iterations of schedulers included; begins anew when the queue is "
    "obliterated.",
)
EVENTS = Family(
    "bullmq_queue_events_total",
    "counter",
    "Entries ever added to the queue's event stream, trimmed ones included; absent on servers before Redis 7.",
)
COMPLETED = Family(
    "bullmq_jobs_completed_total",
    "counter",
    "Jobs completed, as counted by workers that run with the option metrics; absent where none does.",
)
FAILED = Family(
    "bullmq_jobs_failed_total",
    "counter",
    "Jobs failed for good, as counted by workers that run with the option metrics; absent where none does. Attempts "
    "that are retried are not in it.",
)
EVENTS_RETAINED = Family("bullmq_queue_events_retained", "gauge", "Entries that the queue's event stream holds now.")
EVENTS_LIMIT = Family(
    "bullmq_queue_events_limit",
    "gauge",
    "Entries to which BullMQ trims the event stream, about (maxLenEvents).",
)
LAST_EVENT = Family(
    "bullmq_queue_last_event_timestamp_seconds",
    "gauge",
    "When anything last happened in the queue, as a Unix timestamp of the Redis server.",
)
LAST_COMPLETED = Family(
    "bullmq_queue_last_completed_timestamp_seconds",
    "gauge",
    "When the newest completed job that is still kept finished, as a Unix timestamp; absent when none is kept.",
)
LAST_FAILED = Family(
    "bullmq_queue_last_failed_timestamp_seconds",
    "gauge",
    "When the newest failed job that is still kept failed, as a Unix timestamp; absent when none is kept.",
)

_COUNTS: dict[Family, Callable[[QueueSnapshot], int | None]] = {
    ADD_ATTEMPTS: lambda seen: seen.add_attempts,
    EVENTS: lambda seen: seen.events_added,
    COMPLETED: lambda seen: seen.completed,
    FAILED: lambda seen: seen.failed,
    EVENTS_RETAINED: lambda seen: seen.events_retained,
    EVENTS_LIMIT: lambda seen: seen.events_limit,
}
_MOMENTS: dict[Family, Callable[[QueueSnapshot], int | None]] = {
    LAST_EVENT: lambda seen: seen.last_event_ms,
    LAST_COMPLETED: lambda seen: seen.last_completed_ms,
    LAST_FAILED: lambda seen: seen.last_failed_ms,
}


def _collect(facts: Facts) -> Iterator[Samples]:
    for family, count in _COUNTS.items():
        yield family.samples((queue, value) for queue, seen, _ in facts.queues if (value := count(seen)) is not None)
    for family, moment in _MOMENTS.items():
        yield family.samples((queue, ms / 1000) for queue, seen, _ in facts.queues if (ms := moment(seen)) is not None)


COLLECTOR = Collector("throughput", (*_COUNTS, *_MOMENTS), _collect)
