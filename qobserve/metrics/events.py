"""How well the events are followed: what was missed, what that makes of the counters, and how far behind we are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.book import KINDS, SHOWN
from qobserve.metrics.collector import Collector, OfBook
from qobserve.metrics.family import OF_QUEUE, Family, Lines, label
from qobserve.metrics.merge import Merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from qobserve.metrics.book import Book
    from qobserve.metrics.family import Row

MISSED = Family(
    "bullmq_events_missed_total",
    "counter",
    "Events that BullMQ trimmed from the queue's stream before they could be read, since the exporter started.",
)
PARTIAL = Family(
    "bullmq_queue_counters_partial",
    "gauge",
    "1 for each counter of jobs (added, completed, failed and so on) that is too low since the exporter started, as "
    "events were missed and nothing else tells how much; absent while all are complete.",
    ("counter", *OF_QUEUE),
)
LAG = Family(
    "bullmq_events_lag_seconds",
    "gauge",
    "For how long there have been events of the queue that were not read yet; 0 while reading keeps up, absent before "
    "the first.",
)

_OF_COUNTER = {kind: label("counter", kind) + "," for kind in KINDS}


def _missed(book: Book) -> Iterable[Row]:
    return ((book.labels, book.missed if book.stage >= SHOWN else 0),)


def _partial(book: Book) -> Iterable[Row]:
    return [(_OF_COUNTER[kind] + book.labels, 1) for kind in KINDS if kind in book.partial]


def _lag(book: Book) -> Iterable[Row]:
    return ((book.labels, max(book.lags.values())),) if book.lags else ()


def _source(family: Family, rows: Callable[[Book], Iterable[Row]], merge: Merge = Merge.SUM) -> OfBook:
    def lines(book: Book) -> Lines:
        plain = family.lines(rows(book))
        return Lines(plain, plain)

    return OfBook(family, lines, lambda book: book.trouble, merge=merge)


COLLECTOR = Collector(
    "events", (_source(MISSED, _missed), _source(PARTIAL, _partial, Merge.MAX), _source(LAG, _lag, Merge.MAX))
)
