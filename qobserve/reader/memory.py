"""What the reader remembers of a queue from one scrape to the next; bounded by the windows, not by the backlog."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from qobserve.model.job import JobTimes
    from qobserve.model.keys import QueueId


class ReadyEvent(NamedTuple):
    """An event that was seen: when the job became ready, and what its hash said then (None before it was read).

    Once the hash says something else, the job has run, or is another one of the same id, and the event speaks of the
    past.
    """

    ms: int
    times: JobTimes | None


class Followed(Protocol):
    """What somebody knows who follows the events of all queues."""

    def ready_ms(self, queue: QueueId, job: bytes) -> int | None:
        """When a job that waits became ready, if that was seen."""

    def taken_to(self, queue: QueueId) -> tuple[int, int]:
        """The id of the last event of a queue that is taken into account."""


@dataclass(slots=True)
class QueueMemory:
    """One queue's memory.

    Attributes:
        followed: Who follows its events; None if nobody does.
        seen: Whether it was looked at before.
        witness: The oldest job of `wait` last time. Should others be pushed over it (LIFO), its unchanged hash still
            proves that it waits.
        urgent_witness: The same of `prioritized`, where more urgent ones may hide it.
        levels: The priority levels seen; `deep` says whether the set was longer than the window last time.
        events: What the stream told of jobs, newest last; more than those that matter now, as later ones will.
        cursor: The entry up to which the stream was read.
        asked: The jobs for which the stream was asked already, with their hash at that time.
        entry_bytes: The largest entry lately read; None before the first.
        shallow: Whether less of the stream was read than may be, as nothing was known of the size of its entries.
        unlocked: Active jobs without a lock last time, with their `processedOn`.
        ended_score: The score up to which all schedulers have ended.
    """

    followed: Followed | None = None
    seen: bool = False
    witness: tuple[bytes, JobTimes] | None = None
    urgent_witness: tuple[bytes, JobTimes] | None = None
    levels: tuple[int, ...] = ()
    deep: bool = False
    events: dict[bytes, ReadyEvent] = field(default_factory=dict)
    cursor: bytes | None = None
    asked: dict[bytes, JobTimes] = field(default_factory=dict)
    entry_bytes: int | None = None
    shallow: bool = False
    unlocked: dict[bytes, int] = field(default_factory=dict)
    ended_score: bytes | None = None

    @property
    def probed_levels(self) -> tuple[int, ...]:
        """The levels that are asked for their first job in the first round trip."""
        return self.levels if self.deep else ()
