"""Prints the families of one collector, scrape after scrape; what is as it was last time is kept.

A queue at rest has the same snapshot, the very object, as last time, and its book the same version. What was printed
of it is kept, except where the clock matters. With a thousand queues that halves the cost of a scrape.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import OfBook, OfClock, OfPast, OfQueue, OfServers
from qobserve.metrics.family import Samples
from qobserve.metrics.kept import Clock, Lasting
from qobserve.metrics.rows import QueueRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from qobserve.metrics.book import Book
    from qobserve.metrics.collector import Collector, Shown, Source
    from qobserve.metrics.kept import Changed
    from qobserve.model.snapshot import RedisFacts


class Printer:
    """One collector at work.

    Args:
        collector: What is printed.
        followed: Whether events are followed, so that there are books.
    """

    def __init__(self, collector: Collector, *, followed: bool) -> None:
        self._sources = list(_used(collector.sources, followed=followed))
        self._of_queue = [QueueRows(source) for source in self._sources if isinstance(source, OfQueue)]
        self._lasting = Lasting([each for each in self._of_queue if each.source.hinge is not None])
        self._clocks = {source.family: Clock(source) for source in self._sources if isinstance(source, OfClock)}
        self._books = _Books([source for source in self._sources if isinstance(source, OfBook)])
        self._past = {source.family: source.begin() for source in self._sources if isinstance(source, OfPast)}

    def __bool__(self) -> bool:
        """Whether there is anything to print."""
        return bool(self._sources)

    def forget(self) -> None:
        """Print everything anew the next time; what was kept may have missed a change."""
        self._lasting.forget()
        for clock in self._clocks.values():
            clock.forget()

    def samples(
        self, shown: Mapping[str, Shown], servers: Sequence[RedisFacts], changed: Changed, *, complete: bool
    ) -> Iterator[Samples]:
        """Each family, in the collector's order.

        Args:
            shown: What is shown under which labels.
            servers: The servers of the target.
            changed: What differs from the last time.
            complete: Whether queues that are not shown are gone.
        """
        for rows in self._of_queue:
            rows.begin(shown, complete=complete)
        lasting, books, of_queue = (
            self._lasting.columns(shown, changed),
            self._books.columns(shown),
            iter(self._of_queue),
        )
        for source in self._sources:
            family = source.family
            if isinstance(source, OfServers):
                yield family.samples(source.rows(servers))
            elif isinstance(source, OfClock):
                yield Samples(family, self._clocks[family].blocks(shown, changed))
            elif isinstance(source, OfPast):
                yield family.samples(self._past[family](shown))
            elif isinstance(source, OfBook):
                yield Samples(family, *next(books, ((), None)))
            else:
                rows = next(of_queue)
                if source.hinge is not None:
                    yield Samples(family, next(lasting, ()))
                else:
                    yield Samples(family, tuple([family.lines(rows.rows(*queue)) for queue in shown.items()]))


def _used(sources: Iterable[Source], *, followed: bool) -> Iterator[Source]:
    for source in sources:
        if followed or not isinstance(source, OfBook):
            yield source
        elif source.otherwise is not None:
            yield source.otherwise


class _Books:
    """The blocks of families that depend on a book."""

    def __init__(self, sources: list[OfBook]) -> None:
        self._sources = sources
        self._stamps = list(dict.fromkeys(source.stamp for source in sources))
        self._kept: dict[str, tuple[Book, list[object], tuple[str, ...], tuple[str, ...]]] = {}

    def columns(self, shown: Mapping[str, Shown]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...] | None]]:
        """For each family the blocks of all queues, and the same with exemplars where there are any."""
        before, kept = self._kept, {}
        for labels, each in shown.items() if self._sources else ():
            if each.book is not None:
                known, stamps = before.get(labels), [stamp(each.book) for stamp in self._stamps]
                if known is None or known[0] is not each.book or known[1] != stamps:
                    known = (each.book, stamps, *self._printed(each.book))
                kept[labels] = known
        self._kept = kept
        plain = zip(*[blocks for _, _, blocks, _ in kept.values()], strict=True)
        if all(blocks is exemplified for _, _, blocks, exemplified in kept.values()):
            return ((blocks, None) for blocks in plain)
        return zip(plain, zip(*[exemplified for *_, exemplified in kept.values()], strict=True), strict=True)

    def _printed(self, book: Book) -> tuple[tuple[str, ...], tuple[str, ...]]:
        lines = [source.lines(book) for source in self._sources]
        plain = tuple([each.plain for each in lines])
        exemplified = tuple([each.exemplified for each in lines])
        return plain, plain if exemplified == plain else exemplified
