"""What a collector is: a name, and for each of its families a pure function from what was seen to rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from qobserve.config import Slo
    from qobserve.metrics.family import Family, Row
    from qobserve.model.snapshot import QueueSnapshot, RedisFacts


@dataclass(frozen=True, slots=True)
class Seen:
    """A queue, the moment of the look on its server's clock (ms), and the promise made for it, if any."""

    queue: QueueSnapshot
    now_ms: int
    slo: Slo | None


def nothing(_seen: Seen) -> None:
    """What the rows of most families depend on beside the queue's snapshot."""


@dataclass(frozen=True, slots=True)
class OfQueue:
    """A family that every queue fills.

    Attributes:
        rows: From a queue's labels as they are printed, and the queue, to its rows.
        hinge: What the rows depend on beside the queue's snapshot: as long as both are the same, the rows are, and need
            not be printed anew. None where every moment counts.
    """

    family: Family
    rows: Callable[[str, Seen], Iterable[Row]]
    hinge: Callable[[Seen], object] | None = nothing


@dataclass(frozen=True, slots=True)
class OfServers:
    """A family that the servers of a target fill together."""

    family: Family
    rows: Callable[[Sequence[RedisFacts]], Iterable[Row]]


@dataclass(frozen=True, slots=True)
class Collector:
    """One subject: `name` is also the part of the snapshot that must have been read for it to succeed."""

    name: str
    sources: tuple[OfQueue | OfServers, ...]

    @property
    def families(self) -> tuple[Family, ...]:
        """What it fills, in the order in which it is printed."""
        return tuple(source.family for source in self.sources)


def value(family: Family, of: Callable[[QueueSnapshot], float | None], per: float = 1) -> OfQueue:
    """A family with one row for a queue, of this value divided by `per`; none where it is unknown."""

    def rows(queue: str, seen: Seen) -> Iterable[Row]:
        known = of(seen.queue)
        return () if known is None else ((queue, known if per == 1 else known / per),)

    return OfQueue(family, rows)
