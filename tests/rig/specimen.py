"""A queue written key by key, as BullMQ 6 lays it out, with a job in every state: what damage is then done to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import redis

VERSION = "bullmq:6.7.0"
LEVEL = 1 << 32
HOUR_MS = 3_600_000


def plant(client: redis.Redis, queue: str | bytes, *, prefix: str = "bull", version: str | None = VERSION) -> bytes:
    """Write the queue, and tell its base key (with the colon at its end).

    States: waiting 2, paused 1, prioritized 1, delayed 1, waiting-children 1, active 1, completed 1, failed 1.
    """
    base = b"%b:%b:" % (prefix.encode(), queue.encode() if isinstance(queue, str) else queue)
    seconds, micros = client.time()
    now_ms = seconds * 1000 + micros // 1000
    with client.pipeline(transaction=True) as pipe:
        pipe.hset(base + b"meta", mapping={"opts.maxLenEvents": 10_000, **({"version": version} if version else {})})
        pipe.set(base + b"id", 9)
        pipe.lpush(base + b"wait", 1, 2)
        pipe.lpush(base + b"paused", 3)
        pipe.lpush(base + b"active", 7)
        pipe.set(base + b"7:lock", "token", px=HOUR_MS)
        for suffix, member, score in (
            (b"prioritized", 4, 3 * LEVEL + 1),
            (b"delayed", 5, (now_ms + HOUR_MS) * 4096),
            (b"waiting-children", 6, now_ms),
            (b"completed", 8, now_ms),
            (b"failed", 9, now_ms),
            (b"repeat", "hourly", now_ms + HOUR_MS),
        ):
            pipe.zadd(base + suffix, {str(member): score})
        for job in range(1, 10):
            pipe.hset(base + b"%d" % job, mapping=job_hash(now_ms, processedOn=now_ms if job > 6 else None))
        pipe.hset(base + b"metrics:completed", mapping={"count": 5})
        pipe.hset(base + b"metrics:failed", mapping={"count": 6})
        pipe.xadd(base + b"events", {"event": "waiting", "jobId": "2", "prev": ""})
        pipe.execute()
    return base


def job_hash(now_ms: int, **fields: str | bytes | int | None) -> dict[str, str | bytes | int]:
    """A job's fields; those that are given win, and None leaves one out."""
    usual: dict[str, str | bytes | int | None] = {
        "name": "job",
        "data": "{}",
        "opts": '{"attempts":0}',
        "timestamp": now_ms,
        "delay": 0,
        "priority": 0,
    }
    return {name: value for name, value in (usual | fields).items() if value is not None}
