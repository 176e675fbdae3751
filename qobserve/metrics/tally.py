"""The counters and histograms of a target: what the fold of its events tells, added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.book import PLACE, Book, Cut
from qobserve.metrics.exemplar import sampled
from qobserve.metrics.names import LeftOut
from qobserve.metrics.templates import Templates
from qobserve.model.run import Counted, Outcome, Started

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qobserve.config import MetricsSettings
    from qobserve.metrics.book import Series
    from qobserve.model.keys import QueueId
    from qobserve.model.run import Run

_POINTED_TO = {
    Outcome.COMPLETED: (PLACE["completed"],),
    Outcome.FAILED: (PLACE["failed"], PLACE["attempts_failed"]),
    Outcome.RETRIED: (PLACE["retried"], PLACE["attempts_failed"]),
    Outcome.STALLED: (PLACE["stalled"],),
}
"""The counters that a run's end adds to, and to whose trace they may point."""

_EXHAUSTED = PLACE["retries_exhausted"]


class Tally:
    """Adds up what happened to the jobs of one target.

    Totals come from `Counted`, histograms from `Started` (the wait) and `Run` (processing); what is not live is neither
    counted nor observed. A queue's counters begin at 0 when it becomes known.
    """

    def __init__(self, settings: MetricsSettings) -> None:
        self.templates = Templates(settings.queue_templates)
        self._left_out = LeftOut()
        self._cut = Cut(
            wait=settings.wait_buckets,
            processing=settings.processing_buckets,
            names=settings.job_names_limit if settings.job_names else None,
            left_out=self._left_out,
        )
        # By base key: bytes keep their hash, a QueueId computes its own each time it is looked up.
        self._of_queue: dict[bytes, Book] = {}
        self._books: dict[str, Book] = {}
        self._restored: dict[str, Mapping[str, Mapping[str, int]]] = {}

    @property
    def names_left_out(self) -> int:
        """How many job names got no series of their own."""
        return self._left_out.count

    def book(self, labels: str) -> Book | None:
        """What was counted under a queue's labels; None for one that is not followed."""
        return self._books.get(labels)

    def take(self, value: Started | Run | Counted) -> None:
        """Add what the fold told."""
        book = self._of_queue.get(value.queue.base)
        if book is None:
            book = self._opened(value.queue)
        if isinstance(value, Counted):
            place = PLACE.get(value.kind)
            if place is None or value.count <= 0:
                return
            series = book.only or book.named(value.name)
            series.counts[place] += value.count
            if series.durations is None:
                book.timed(series)
            book.version += 1
        elif value.live:
            self._time(book, value)
            book.version += 1

    def known(self, queue: QueueId) -> None:
        """A queue is followed from now on: its counters are there, at 0."""
        if queue.base not in self._of_queue:
            self._opened(queue)

    def made_up(self, queue: QueueId, kind: str, count: int) -> None:
        """Add what must have happened while events were missed, by the counts that Redis keeps."""
        if kind in PLACE and count > 0:
            self.take(Counted(queue=queue, kind=kind, count=count))

    def missed(self, queue: QueueId, events: int) -> None:
        """Events of a queue were trimmed before they were read."""
        if events > 0:
            book = self._found(queue)
            book.missed += events
            book.trouble += 1

    def partial(self, queue: QueueId, kind: str) -> None:
        """A count is too low from now on: some of it was missed, and nothing tells how much."""
        book = self._found(queue)
        if kind in PLACE:
            book.partial.add(kind.replace("-", "_"))
            book.trouble += 1

    def lag(self, queue: QueueId, seconds: float) -> None:
        """For how long a queue has had events that were not read."""
        book = self._found(queue)
        if book.lags.get(queue.base) != seconds:
            book.lags[queue.base] = max(seconds, 0.0)
            book.trouble += 1

    def forget(self, queue: QueueId) -> None:
        """A queue is gone; what it added to the counts of a template stays in them."""
        book = self._of_queue.pop(queue.base, None)
        if book is not None:
            book.members.discard(queue.base)
            book.lags.pop(queue.base, None)
            book.trouble += 1
            if not book.members:
                self._books.pop(book.labels, None)

    def saved(self) -> dict[str, dict[str, dict[str, int]]]:
        """All counts, by a queue's labels, job name and kind, for `restore` of a later process."""
        waiting = {
            labels: {name: dict(kinds) for name, kinds in counts.items()} for labels, counts in self._restored.items()
        }
        return waiting | {labels: book.counts() for labels, book in self._books.items()}

    def restore(self, saved: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
        """Go on from these counts as the queues become known; their first value is then no 0."""
        self._restored = dict(saved)
        for labels, book in self._books.items():
            self._go_on(labels, book)

    def _found(self, queue: QueueId) -> Book:
        return self._of_queue.get(queue.base) or self._opened(queue)

    def _opened(self, queue: QueueId) -> Book:
        labels, _ = self.templates.labels(queue)
        book = self._books.get(labels)
        if book is None:
            book = self._books[labels] = Book(labels, self._cut)
            self._go_on(labels, book)
        book.members.add(queue.base)
        self._of_queue[queue.base] = book
        return book

    def _go_on(self, labels: str, book: Book) -> None:
        if labels in self._restored:
            book.restore(self._restored.pop(labels))

    def _time(self, book: Book, value: Started | Run) -> None:
        card = value.card
        name = value.name
        if name is None and card is not None:
            name = card.name
        series = book.only or book.named(name)
        durations = series.durations or book.timed(series)
        context = sampled(card)
        if isinstance(value, Started):
            if value.ready_ms is not None:
                durations.wait.observe(value.started_ms - value.ready_ms, context, value.started_ms)
            return
        if value.started_ms is not None and value.outcome is not Outcome.REMOVED:
            durations.processing.observe(value.ended_ms - value.started_ms, context, value.ended_ms)
        if context is not None:
            _point(series, value, context)


def _point(series: Series, run: Run, context: str) -> None:
    """Let the counters that this run added to point to its trace."""
    exemplar = (context, 1.0, run.ended_ms)
    for place in _POINTED_TO.get(run.outcome, ()):
        series.exemplars[place] = exemplar
    if run.exhausted:
        series.exemplars[_EXHAUSTED] = exemplar
