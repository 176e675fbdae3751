"""What went through: the counters that Redis itself keeps, which survive trimming and auto-removal."""

from __future__ import annotations

from qobserve.metrics.collector import Collector, value
from qobserve.metrics.family import Family

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

COLLECTOR = Collector(
    "throughput",
    (
        value(ADD_ATTEMPTS, lambda queue: queue.add_attempts),
        value(EVENTS, lambda queue: queue.events_added),
        value(COMPLETED, lambda queue: queue.completed),
        value(FAILED, lambda queue: queue.failed),
        value(EVENTS_RETAINED, lambda queue: queue.events_retained),
        value(EVENTS_LIMIT, lambda queue: queue.events_limit),
        value(LAST_EVENT, lambda queue: queue.last_event_ms, per=1000),
        value(LAST_COMPLETED, lambda queue: queue.last_completed_ms, per=1000),
        value(LAST_FAILED, lambda queue: queue.last_failed_ms, per=1000),
    ),
)
