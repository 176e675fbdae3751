"""Queues written key by key, as BullMQ 6 leaves them, and what a scrape shows of all queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import redis

    from rig.scrape import Samples


def write_queue(
    client: redis.Redis | redis.RedisCluster, queue: str, *, prefix: str = "bull", waiting: int = 1
) -> None:
    """Add jobs to a queue, which is made where it is not there; in a cluster its keys must share a hash tag."""
    base = f"{prefix}:{queue}"
    client.hset(f"{base}:meta", mapping={"opts.maxLenEvents": "10000", "version": "bullmq:6.7.0"})
    for _ in range(waiting):
        job = client.incr(f"{base}:id")
        client.hset(
            f"{base}:{job}",
            mapping={"name": "job", "data": "{}", "opts": '{"attempts":0}', "timestamp": "1796035293012", "delay": "0"},
        )
        client.lpush(f"{base}:wait", str(job))


def drop_queue(client: redis.Redis, queue: str, *, prefix: str = "bull") -> None:
    """Delete every key of a queue."""
    client.delete(*client.scan_iter(f"{prefix}:{queue}:*"))


def waiting(samples: Samples) -> dict[str, float]:
    """Waiting jobs by `prefix:queue`, of all queues that are shown."""
    shown = ((dict(labels), value) for (name, labels), value in samples.items() if name == "bullmq_queue_jobs")
    return {f"{of['prefix']}:{of['queue']}": value for of, value in shown if of["state"] == "waiting"}


def role(samples: Samples) -> str:
    """What the server says that it is: `master` or `slave`."""
    (labels,) = (dict(labels) for name, labels in samples if name == "bullmq_redis_info")
    return labels["role"]
