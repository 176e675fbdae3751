"""A look at queues that were seen before takes two round trips at most, whatever happens to them in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rig.recorder import recording
from rig.specimen import job_hash

from qobserve.config import DiscoverySettings, QueueSettings, TargetSettings
from qobserve.reader.quiet import QUIET_LOOKS
from qobserve.reader.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis
    from rig.servers import Server

WINDOW = 100
"""Prioritized jobs that are shown of a single queue; beyond it levels are probed one by one."""


def prioritize(client: redis.Redis, levels: range, *, per_level: int) -> None:
    """Let the queue have so many prioritized jobs at each level, with an event each."""
    for level in levels:
        for number in range(per_level):
            job = f"p{level}-{number}"
            client.hset(f"bull:q:{job}", mapping=job_hash(1))
            client.zadd("bull:q:prioritized", {job: (level << 32) + number})
            client.xadd("bull:q:events", {"event": "waiting", "jobId": job})


def take(client: redis.Redis, most: int) -> None:
    """Take the most urgent jobs away."""
    for job, _ in client.zpopmin("bull:q:prioritized", most):
        client.xadd("bull:q:events", {"event": "active", "jobId": job, "prev": "waiting"})


STEPS: tuple[Callable[[redis.Redis], None], ...] = (
    lambda client: prioritize(client, range(1, 4), per_level=20),
    lambda client: prioritize(client, range(10, 40, 10), per_level=30),
    lambda client: take(client, 60),
    lambda client: prioritize(client, range(1, 30), per_level=5),
    lambda client: take(client, 130),
    lambda client: prioritize(client, range(50, 55), per_level=40),
    lambda client: take(client, 1000),
)
"""The set breathes around the window, with new levels each time."""


async def test_a_prioritized_set_that_breathes_never_costs_a_third_round_trip(server: Server) -> None:
    trips: list[int] = []
    with server.client() as client:
        client.hset("bull:q:meta", mapping={"opts.maxLenEvents": 10000, "version": "bullmq:6.7.0"})
        client.xadd("bull:q:events", {"event": "added", "jobId": "0"})
        async with recording(server.port) as recorder:
            reader = Reader(
                TargetSettings(
                    url=f"redis://127.0.0.1:{recorder.port}/0",
                    discovery=DiscoverySettings(enabled=False),
                    queues=QueueSettings(static=("bull:q",)),
                ),
                "recorded",
            )
            try:
                await reader.snapshot()
                for step in STEPS:
                    step(client)
                    for _ in range(QUIET_LOOKS + 1):
                        recorder.trips.clear()
                        snapshot = await reader.snapshot()
                        assert snapshot.trouble is None
                        trips.append(len(recorder.trips))
            finally:
                await reader.close()

    assert max(trips) == 2
    assert len(trips) == len(STEPS) * (QUIET_LOOKS + 1)
