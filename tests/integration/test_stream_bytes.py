"""Return values may be as large as Redis allows: a look at their stream stays short, and still finds what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rig.planted import Job, server_ms

from qobserve.model.job import ReadyAt

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import redis

    from qobserve.model.snapshot import QueueSnapshot

    Watching = Callable[..., Callable[[], Awaitable[QueueSnapshot]]]

HOUR = 3_600_000
LARGE = 250_000
SLACK = 100_000
FIRST = 32
"""Entries of a stream that is read for the first time."""

MIB = 1 << 20
EVENTS = "bull:q:events"


def run(client: redis.Redis, job: str, result: bytes) -> None:
    """The events of a job that comes and goes."""
    for fields in ({"event": "waiting"}, {"event": "active"}, {"event": "completed", "returnvalue": result}):
        client.xadd(EVENTS, {**fields, "jobId": job})  # type: ignore[arg-type]  # its stub wants a union


def add(client: redis.Redis, job: str, *, skewed_by: int = 0) -> int:
    """A waiting job by a producer whose clock is behind; tells when it came."""
    now = server_ms(client)
    client.hset("bull:q:meta", mapping={"opts.maxLenEvents": 10_000, "version": "bullmq:6.7.0"})
    client.hset(f"bull:q:{job}", mapping=Job(age=skewed_by).fields(now))  # type: ignore[arg-type]  # as above
    client.lpush("bull:q:wait", job)
    client.xadd(EVENTS, {"event": "waiting", "jobId": job}, id=f"{now}-*")
    return now


def sent(client: redis.Redis) -> int:
    """Bytes that the server has sent to all its clients."""
    return int(client.info("stats")["total_net_output_bytes"])  # type: ignore[index]  # its stub allows for asyncio


async def test_bytes_of_a_look_do_not_grow_with_the_return_values(
    redis_client: redis.Redis, watching: Watching
) -> None:
    for number in range(FIRST * 2):
        run(redis_client, f"done-{number}", b"x" * LARGE)
    look = watching("bull:q")
    costs: list[int] = []
    for number in range(4):
        add(redis_client, f"new-{number}")
        before = sent(redis_client)
        assert (await look()).events_retained == FIRST * 2 * 3 + number + 1
        costs.append(sent(redis_client) - before)

    large_ones = FIRST // 3 + 1
    assert costs[0] < large_ones * LARGE + SLACK
    assert max(costs[1:]) < MIB + SLACK


async def test_large_return_values_that_begin_later_cost_one_look_at_most(
    redis_client: redis.Redis, watching: Watching
) -> None:
    """The sizes seen so far say nothing of those to come; what was seen once is remembered."""
    look = watching("bull:q")
    run(redis_client, "small", b"1")
    await look()
    for number in range(20):
        run(redis_client, f"done-{number}", b"x" * LARGE)
    costs: list[int] = []
    for number in range(3):
        add(redis_client, f"new-{number}")
        before = sent(redis_client)
        await look()
        costs.append(sent(redis_client) - before)

    assert max(costs[1:]) < MIB + SLACK


async def test_a_first_look_that_was_too_short_is_made_up_for_by_the_next(
    redis_client: redis.Redis, watching: Watching
) -> None:
    came = add(redis_client, "early", skewed_by=HOUR)
    for number in range(FIRST):
        run(redis_client, f"done-{number}", b"1")
    look = watching("bull:q")

    assert [(await look()).waiting_since for _ in range(3)] == [
        ReadyAt(ms=came - HOUR, source="hash", exact=True),
        ReadyAt(ms=came, source="event", exact=True),
        ReadyAt(ms=came, source="event", exact=True),
    ]
