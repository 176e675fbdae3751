"""What a collector is: a name, and for each of its families a function from what was seen to rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from qobserve.metrics.merge import Merge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from qobserve.config import Slo
    from qobserve.metrics.book import Book
    from qobserve.metrics.family import Family, Lines, Row
    from qobserve.model.snapshot import QueueSnapshot, RedisFacts


@dataclass(frozen=True, slots=True)
class Seen:
    """A queue, the moment of the look on its server's clock (ms), and the promise made for it, if any."""

    queue: QueueSnapshot
    now_ms: int
    slo: Slo | None


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown under the labels of one queue.

    Attributes:
        members: The queue; or those that a template merges.
        merged: Whether a template merges them, be it only one now.
        look: The same object as long as the snapshots of the members are the same objects.
        book: What was counted; None where events are not followed.
    """

    members: tuple[Seen, ...]
    merged: bool
    look: object
    book: Book | None


def nothing(_seen: Seen) -> None:
    """What the rows of most families depend on beside the queue's snapshot."""


@dataclass(frozen=True, slots=True)
class OfQueue:
    """A family that every queue fills.

    Attributes:
        rows: From a queue's labels as they are printed, and the queue, to its rows.
        hinge: What the rows depend on beside the queue's snapshot: as long as both are the same, the rows are, and need
            not be printed anew. None where every moment counts.
        merge: What becomes of the rows of queues that a template merges. Of a counter, which then has one row a queue,
            the rises are added up.
    """

    family: Family
    rows: Callable[[str, Seen], Iterable[Row]]
    hinge: Callable[[Seen], object] | None = nothing
    merge: Merge = Merge.SUM


@dataclass(frozen=True, slots=True)
class OfClock:
    """A family of ages: every queue fills it, and all that changes while a queue rests is that time goes by.

    Attributes:
        since: From a queue's labels as they are printed, and the queue, to labels and the moment from which the age
            counts; None for an age of 0.
    """

    family: Family
    since: Callable[[str, QueueSnapshot], Iterable[tuple[str, int | None]]]
    merge: Merge = Merge.MAX

    def rows(self, labels: str, seen: Seen) -> Iterable[Row]:
        """The ages at the moment of the look, in seconds."""
        for each, since_ms in self.since(labels, seen.queue):
            yield each, 0.0 if since_ms is None else age(since_ms, seen.now_ms)


def age(since_ms: int, now_ms: int) -> float:
    """How long ago a moment was, in seconds; never negative."""
    return (now_ms - since_ms) / 1000 if now_ms > since_ms else 0.0


@dataclass(frozen=True, slots=True)
class OfBook:
    """A family that is filled with what was counted of a queue's events; of merged queues that is one count.

    Attributes:
        lines: From the book to its lines.
        stamp: What the lines depend on: as long as it is the same, they are.
        otherwise: What fills the family where events are not followed; None leaves it out.
        merge: What the book made of the values of merged queues.
    """

    family: Family
    lines: Callable[[Book], Lines]
    stamp: Callable[[Book], object]
    otherwise: OfQueue | None = None
    merge: Merge = Merge.SUM


@dataclass(frozen=True, slots=True)
class OfPast:
    """A family that needs to know what was seen before.

    Attributes:
        begin: Called once for a collection; what it returns is called at every look, with all queues by their labels.
    """

    family: Family
    begin: Callable[[], Callable[[Mapping[str, Shown]], Iterable[Row]]]
    merge: Merge = Merge.SUM


@dataclass(frozen=True, slots=True)
class OfServers:
    """A family that the servers of a target fill together."""

    family: Family
    rows: Callable[[Sequence[RedisFacts]], Iterable[Row]]


Source: TypeAlias = "OfQueue | OfClock | OfBook | OfPast | OfServers"


@dataclass(frozen=True, slots=True)
class Collector:
    """One subject: `name` is also the part of the snapshot that must have been read for it to succeed."""

    name: str
    sources: tuple[Source, ...]

    @property
    def families(self) -> tuple[Family, ...]:
        """What it fills, in the order in which it is printed."""
        return tuple(source.family for source in self.sources)


def value(
    family: Family,
    of: Callable[[QueueSnapshot], float | None],
    per: float = 1,
    *,
    merge: Merge = Merge.SUM,
) -> OfQueue:
    """A family with one row for a queue, of this value divided by `per`; none where it is unknown."""

    def rows(queue: str, seen: Seen) -> Iterable[Row]:
        known = of(seen.queue)
        return () if known is None else ((queue, known if per == 1 else known / per),)

    return OfQueue(family, rows, merge=merge)
