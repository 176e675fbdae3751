"""An event of an earlier wait must not pass for that of a later one, wherever the later one is gone or not read yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.planted import Job, server_ms

from qobserve.model.job import ReadyAt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import redis

    from qobserve.model.snapshot import QueueSnapshot

    Watching = Callable[..., Callable[[], Awaitable[QueueSnapshot]]]

HOUR = 3_600_000
EVENTS = "bull:q:events"
LOOKS = 12


def put(client: redis.Redis, name: str, job: Job, now_ms: int) -> None:
    client.hset("bull:q:meta", mapping={"opts.maxLenEvents": 10_000, "version": "bullmq:6.7.0"})
    client.hset(f"bull:q:{name}", mapping=job.fields(now_ms))  # type: ignore[arg-type]  # its stub wants a union


def tell(client: redis.Redis, event: str, job: str, at_ms: int) -> None:
    client.xadd(EVENTS, {"event": event, "jobId": job}, id=f"{at_ms}-*")


def crowd(client: redis.Redis, count: int) -> None:
    """Events of other jobs."""
    with client.pipeline() as pipe:
        for number in range(count):
            pipe.xadd(EVENTS, {"event": "completed", "jobId": f"other-{number}", "returnvalue": "1"})
        pipe.execute()


def trim_by_traffic(client: redis.Redis) -> None:
    crowd(client, 150)
    client.xtrim(EVENTS, maxlen=10, approximate=False)


def trim_all(client: redis.Redis) -> None:
    client.xtrim(EVENTS, maxlen=0, approximate=False)


def delete(client: redis.Redis) -> None:
    client.delete(EVENTS)
    crowd(client, 1)


TRIMMINGS = [trim_by_traffic, trim_all, delete]


@pytest.mark.parametrize("trim", TRIMMINGS)
async def test_a_job_whose_return_nobody_can_read_is_not_as_old_as_its_first_wait(
    redis_client: redis.Redis, watching: Watching, trim: Callable[[redis.Redis], None]
) -> None:
    now = server_ms(redis_client)
    failed = Job(age=HOUR, ran=HOUR, attempts=1, opts={"backoff": {"type": "fixed", "delay": HOUR - 10_000}})
    put(redis_client, "x", failed, now)
    tell(redis_client, "waiting", "x", now - HOUR)
    redis_client.zadd("bull:q:delayed", {"x": (now - 10_000) * 4096})
    look = watching("bull:q")
    await look()
    redis_client.delete("bull:q:delayed")
    redis_client.lpush("bull:q:wait", "x")
    tell(redis_client, "waiting", "x", now - 9_000)
    trim(redis_client)

    by_its_hash = ReadyAt(ms=now - 10_000, source="hash", exact=False)
    assert (await look()).waiting_since == by_its_hash
    assert (await watching("bull:q")()).waiting_since == by_its_hash


@pytest.mark.parametrize("trim", TRIMMINGS)
async def test_an_event_that_the_unchanged_hash_proves_outlives_the_stream(
    redis_client: redis.Redis, watching: Watching, trim: Callable[[redis.Redis], None]
) -> None:
    now = server_ms(redis_client)
    put(redis_client, "x", Job(age=HOUR), now)
    redis_client.lpush("bull:q:wait", "x")
    tell(redis_client, "waiting", "x", now - 5_000)
    look = watching("bull:q")
    by_its_event = ReadyAt(ms=now - 5_000, source="event", exact=True)
    assert (await look()).waiting_since == by_its_event

    tell(redis_client, "added", "y", now)
    trim(redis_client)

    assert (await look()).waiting_since == by_its_event


@pytest.mark.parametrize(("queues", "between"), [(1, 600), (1000, 20)])
async def test_an_id_that_is_used_again_before_its_event_is_read(
    redis_client: redis.Redis, watching: Watching, queues: int, between: int
) -> None:
    """So much is written at once that the event lies neither in what follows the last look nor in the newest part."""
    now = server_ms(redis_client)
    tell(redis_client, "waiting", "user-1", now - HOUR)
    look = watching("bull:q", *(f"bull:empty-{number}" for number in range(queues - 1)))
    await look()
    crowd(redis_client, between)
    put(redis_client, "user-1", Job(age=1_000), now)
    redis_client.lpush("bull:q:wait", "user-1")
    redis_client.xadd(EVENTS, {"event": "waiting", "jobId": "user-1"})
    crowd(redis_client, between)

    ages = [(await look()).waiting_since for _ in range(LOOKS)]
    by_its_event = ages[-1]
    assert by_its_event is not None
    assert by_its_event.source == "event"
    assert by_its_event.ms >= now
    assert ages[0] == ReadyAt(ms=now - 1_000, source="hash", exact=True)
    assert {*ages} == {ages[0], by_its_event}
