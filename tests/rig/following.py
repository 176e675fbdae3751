"""A follower at work in this process, and a listener that remembers all it is told."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qobserve.config import TargetSettings
from qobserve.model.keys import queue_id
from qobserve.model.lifecycle import Lifecycle
from qobserve.model.run import Counted
from qobserve.reader.follow import Follower
from qobserve.reader.topology import topology

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    import redis

    from qobserve.model.keys import QueueId
    from qobserve.model.run import Run, Started
    from qobserve.reader.follow_keep import Memory

MOST_OPEN = 200_000
LIMIT = 10_000


@dataclass(slots=True)
class Listener:
    """All that a follower tells, by queue name."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    values: list[Started | Run | Counted] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    made: Counter[tuple[str, str]] = field(default_factory=Counter)
    parts: set[tuple[str, str]] = field(default_factory=set)
    lags: dict[str, float] = field(default_factory=dict)
    forgotten: list[str] = field(default_factory=list)

    def take(self, value: Started | Run | Counted) -> None:
        self.values.append(value)
        if isinstance(value, Counted):
            self.counts[value.queue.name][value.kind] += value.count

    def known(self, queue: QueueId) -> None:
        self.counts[queue.name] = Counter()

    def missed(self, queue: QueueId, events: int) -> None:
        self.lost[queue.name] += events

    def made_up(self, queue: QueueId, kind: str, count: int) -> None:
        self.made[queue.name, kind] += count
        self.counts[queue.name][kind] += count

    def partial(self, queue: QueueId, kind: str) -> None:
        self.parts.add((queue.name, kind))

    def lag(self, queue: QueueId, seconds: float) -> None:
        self.lags[queue.name] = seconds

    def forget(self, queue: QueueId) -> None:
        self.forgotten.append(queue.name)
        self.counts.pop(queue.name, None)

    @property
    def total(self) -> Counter[str]:
        """The counts of all queues."""
        return sum(self.counts.values(), Counter())


@dataclass(slots=True)
class Watch:
    """A follower, its listener, and the queues that it follows, which may be changed."""

    follower: Follower
    heard: Listener
    queues: list[QueueId]

    async def until(self, check: Callable[[], bool], what: str, *, timeout: float = 20.0) -> None:  # noqa: ASYNC109 - of a wait that polls
        """Ask again and again until `check` holds."""
        deadline = time.monotonic() + timeout
        while not check():
            assert time.monotonic() < deadline, f"waited in vain: {what}; {self.heard.counts} {self.heard.lost}"
            await asyncio.sleep(0.02)

    async def caught_up(self) -> None:
        """Wait until the follower is up to date."""
        await self.until(lambda: self.follower.caught_up, "the follower to catch up")


@asynccontextmanager
async def following(  # noqa: PLR0913 - what a follower is made with
    settings: TargetSettings | str,
    *queues: str,
    discovered: Callable[[], bool] = lambda: True,
    cards: bool = False,
    past: bool = False,
    checkpoint: Path | None = None,
    memory: Memory | None = None,
    others: Sequence[object] = (),
) -> AsyncIterator[Watch]:
    """Follow these queues of the prefix `bull` for the length of an `async with` block, from when all are known."""
    target = TargetSettings(url=settings) if isinstance(settings, str) else settings
    heard, watched = Listener(), [queue_id("bull", name) for name in queues]
    follower = Follower(
        target,
        "test",
        lambda: watched,
        topology(target),
        Lifecycle(MOST_OPEN, cards=cards),
        [*others, heard],  # type: ignore[list-item]  # broken ones are of interest, too
        discovered=discovered,
        past=past,
        checkpoint=checkpoint,
        memory=memory,
    )
    watch = Watch(follower, heard, watched)
    await follower.start()
    try:
        yield watch
    finally:
        await follower.close()


def write_jobs(client: redis.Redis, queue: str, jobs: int, *, first: int = 1, metrics: bool = True) -> int:
    """Write what so many jobs that are added, run and removed leave behind in BullMQ 6; how many events."""
    stream, base = f"bull:{queue}:events", f"bull:{queue}"
    pipe = client.pipeline(transaction=False)
    for job in range(first, first + jobs):
        pipe.incr(f"{base}:id")
        pipe.xadd(stream, {"event": "added", "jobId": job, "name": "job"})
        pipe.xadd(stream, {"event": "waiting", "jobId": job}, maxlen=LIMIT, approximate=True)
        pipe.xadd(stream, {"event": "active", "jobId": job, "prev": "waiting"})
        pipe.xadd(stream, {"event": "completed", "jobId": job, "returnvalue": "null", "prev": "active"})
        if metrics:
            pipe.hincrby(f"{base}:metrics:completed", "count", 1)
    pipe.execute()
    return 4 * jobs
