"""What a collector is: a name, its families, and a pure function from a snapshot to their samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from qobserve.config import Slo
    from qobserve.metrics.family import Family, Samples
    from qobserve.model.keys import QueueId
    from qobserve.model.snapshot import QueueSnapshot, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What collectors are given.

    Attributes:
        snapshot: Everything that was read.
        queues: Each queue's labels as they are printed, the queue, and the moment of the look on its server's clock.
        slo: The promise made for a queue, if any.
    """

    snapshot: Snapshot
    queues: Sequence[tuple[str, QueueSnapshot, int]]
    slo: Callable[[QueueId], Slo | None]


@dataclass(frozen=True, slots=True)
class Collector:
    """One subject: `name` is also the part of the snapshot that must have been read for it to succeed."""

    name: str
    families: tuple[Family, ...]
    collect: Callable[[Facts], Iterable[Samples]]
