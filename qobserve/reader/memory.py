"""What the reader remembers of a queue from one scrape to the next; bounded by the windows, not by the backlog."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ReadyEvent:
    """An event that was seen: when the job became ready, and the `processedOn` that its hash had then.

    Once the job has run again, `processedOn` differs and the event no longer speaks of this wait.
    """

    ms: int
    processed_on: int | None


@dataclass(slots=True)
class QueueMemory:
    """One queue's memory.

    Attributes:
        confirmed: It was seen to be BullMQ's; eviction may take the keys that say so and leave the jobs.
        witness: The oldest job of `wait` last time, with its `processedOn`. Should others be pushed over it (LIFO),
            its hash still proves that it waits.
        levels: The priority levels seen, where the set is longer than the window.
        events: What the stream's tail told of the jobs that matter now.
        asked: The jobs for which the tail was asked already, with their `processedOn` at that time.
        unlocked: Active jobs without a lock last time, with their `processedOn`.
    """

    confirmed: bool = False
    witness: tuple[bytes, int | None] | None = None
    levels: tuple[int, ...] = ()
    events: dict[bytes, ReadyEvent] = field(default_factory=dict)
    asked: dict[bytes, int | None] = field(default_factory=dict)
    unlocked: dict[bytes, int] = field(default_factory=dict)
