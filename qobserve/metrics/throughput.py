"""What went through: counted from the events as they happen, and what Redis itself counts, which survives trimming."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.book import PLACE, SHOWN
from qobserve.metrics.collector import Collector, OfBook, value
from qobserve.metrics.exemplar import printed
from qobserve.metrics.family import OF_QUEUE, Family, Lines, number
from qobserve.metrics.merge import Merge

if TYPE_CHECKING:
    from qobserve.metrics.book import Book, Series
    from qobserve.metrics.collector import OfQueue

_SINCE = "since the exporter started"


def _counter(name: str, help_: str) -> Family:
    return Family(f"bullmq_{name}_total", "counter", help_, OF_QUEUE, ("name",))


ADDED = _counter("jobs_added", f"Jobs added {_SINCE}, iterations of schedulers included, rejected duplicates not.")
COMPLETED = _counter(
    "jobs_completed",
    f"Jobs completed {_SINCE}, by the events; where these are not followed (follow.enabled, once) as the workers count "
    "them that run with the option metrics, and absent where none does.",
)
FAILED = _counter(
    "jobs_failed",
    f"Jobs failed for good {_SINCE}, by the events; where these are not followed (follow.enabled, once) as the workers "
    "count them that run with the option metrics, and absent where none does. Attempts that are retried are not in it.",
)
RETRIED = _counter("jobs_retried", f"Attempts that failed and were to be made again by themselves, {_SINCE}.")
STALLED = _counter("jobs_stalled", f"Times that a job was taken from a worker that no longer held it, {_SINCE}.")
DELAYED = _counter("jobs_delayed", f"Times that a job was delayed, other than by a failed attempt, {_SINCE}.")
DEDUPLICATED = _counter("jobs_deduplicated", f"Jobs that were turned away or replaced as duplicates, {_SINCE}.")
REMOVED = _counter("jobs_removed", f"Jobs removed or cleaned away, {_SINCE}; those removed as they end are not in it.")
RETRIES_EXHAUSTED = _counter("jobs_retries_exhausted", f"Jobs that failed with no attempt left, {_SINCE}.")
ATTEMPTS_FAILED = _counter("job_attempts_failed", f"Attempts that failed, to be made again or for good, {_SINCE}.")

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


def version(book: Book) -> int:
    """What everything that is counted depends on."""
    return book.version


def _counted(family: Family, kind: str, otherwise: OfQueue | None = None) -> OfBook:
    """A family that shows the counts of one kind."""
    name, place = family.name, PLACE[kind]

    def of_series(series: Series) -> Lines:
        if series.stage < SHOWN:
            line = f"{name}{{{series.labels}}} 0.0\n"
            return Lines(line, line)
        line = f"{name}{{{series.labels}}} {number(series.counts[place])}"
        exemplar = series.exemplars.get(place)
        return Lines(line + "\n", f"{line}\n" if exemplar is None else f"{line}{printed(exemplar)}\n")

    def lines(book: Book) -> Lines:
        if book.only is not None:
            return of_series(book.only)
        blocks = [of_series(series) for series in book.series()]
        return Lines("".join([each.plain for each in blocks]), "".join([each.exemplified for each in blocks]))

    return OfBook(family, lines, version, otherwise)


COLLECTOR = Collector(
    "throughput",
    (
        _counted(ADDED, "added"),
        _counted(COMPLETED, "completed", value(COMPLETED, lambda queue: queue.completed)),
        _counted(FAILED, "failed", value(FAILED, lambda queue: queue.failed)),
        _counted(RETRIED, "retried"),
        _counted(STALLED, "stalled"),
        _counted(DELAYED, "delayed"),
        _counted(DEDUPLICATED, "deduplicated"),
        _counted(REMOVED, "removed"),
        _counted(RETRIES_EXHAUSTED, "retries_exhausted"),
        _counted(ATTEMPTS_FAILED, "attempts_failed"),
        value(ADD_ATTEMPTS, lambda queue: queue.add_attempts),
        value(EVENTS, lambda queue: queue.events_added),
        value(EVENTS_RETAINED, lambda queue: queue.events_retained),
        value(EVENTS_LIMIT, lambda queue: queue.events_limit),
        value(LAST_EVENT, lambda queue: queue.last_event_ms, per=1000, merge=Merge.MAX),
        value(LAST_COMPLETED, lambda queue: queue.last_completed_ms, per=1000, merge=Merge.MAX),
        value(LAST_FAILED, lambda queue: queue.last_failed_ms, per=1000, merge=Merge.MAX),
    ),
)
