"""A queue that has been quiet for a while costs little to look at, and nothing that happens to it goes unnoticed."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.drivers import driving, version_of
from rig.stage import Stage

from qobserve.config import DiscoverySettings, QueueSettings, TargetSettings
from qobserve.model.job import ReadyAt
from qobserve.model.states import State
from qobserve.reader.quiet import FULL_EVERY, QUIET_LOOKS
from qobserve.reader.reader import Reader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    import redis
    from rig.drivers import Json
    from rig.servers import Server

    from qobserve.model.snapshot import QueueSnapshot

HOUR = 3_600_000
NEAR_MS = 20
LOOKS = QUIET_LOOKS + 3
"""Looks until a queue is quiet: the first ones learn."""


@contextlib.asynccontextmanager
async def reading(server: Server, *queues: str) -> AsyncIterator[Reader]:
    settings = TargetSettings(
        url=server.url, discovery=DiscoverySettings(enabled=False), queues=QueueSettings(static=queues)
    )
    reader = Reader(settings, "test")
    try:
        yield reader
    finally:
        await reader.close()


async def look(reader: Reader) -> QueueSnapshot:
    """What a reader says of its one queue, without what the clock moves."""
    snapshot = await reader.snapshot()
    assert snapshot.trouble is None
    (queue,) = snapshot.queues()
    limited = None if queue.rate_limited_ms is None else bool(queue.rate_limited_ms)
    return replace(queue, rate_limited_ms=limited)


def differences(told: QueueSnapshot, truth: QueueSnapshot) -> list[str]:
    """What is not as it should be; that something became ready is told by an event or, some ms off, by a hash."""
    return [
        f"{name}: {getattr(told, name)} and not {getattr(truth, name)}"
        for name in FIELDS
        if not alike(getattr(told, name), getattr(truth, name))
    ]


def alike(told: object, truth: object) -> bool:
    if isinstance(told, ReadyAt) and isinstance(truth, ReadyAt):
        return abs(told.ms - truth.ms) <= NEAR_MS
    return told == truth


@pytest.fixture(params=["node-4.18.3", "node-5.81.5", "node-6.7.0", "python-3.4.4"])
def stage(request: pytest.FixtureRequest, server: Server) -> Iterator[Stage]:
    with driving(request.param, server) as driver, server.client() as client:
        yield Stage(driver=driver, victim=driver, client=client)


def _add(stage: Stage) -> None:
    stage.add("q")


def _add_lifo(stage: Stage) -> None:
    stage.add("q", lifo=True)


def _add_delayed(stage: Stage) -> None:
    stage.add("q", delay=HOUR // 2)


def _add_prioritized(stage: Stage) -> None:
    stage.add("q", priority=7)


def _duplicate(stage: Stage) -> None:
    stage.add("q", jobId="first")


def _promote(stage: Stage) -> None:
    stage.driver.call("promote", queue="q", jobId=stage.add("q", delay=HOUR))


def _remove(stage: Stage) -> None:
    stage.driver.call("remove", queue="q", jobId="first")


def _pause(stage: Stage) -> None:
    stage.driver.call("pause", queue="q")


def _resume(stage: Stage) -> None:
    stage.driver.call("resume", queue="q")


def _limit(stage: Stage) -> None:
    stage.supported("setGlobalConcurrency", queue="q", concurrency=3)


def _rate_limit(stage: Stage) -> None:
    stage.supported("rateLimit", queue="q", ms=60_000)


def _change_priority(stage: Stage) -> None:
    if stage.driver.version.language == "node":
        stage.driver.call("changePriority", queue="q", jobId="urgent", priority=9)


def _schedule(stage: Stage) -> None:
    if version_of(stage.driver.name).major != 4:  # its repeatable jobs have other members in `repeat`
        stage.supported("upsertScheduler", queue="q", scheduler="hourly", repeat={"every": HOUR})


def _fail(stage: Stage) -> None:
    stage.add("q", lifo=True, jobId="bad")
    _work(stage, {"bad": {"fail": True}, "*": {"fail": True}})


def _complete(stage: Stage) -> None:
    _work(stage, {"*": {}})


def _work(stage: Stage, script: Json) -> None:
    stage.driver.call("resume", queue="q")
    with contextlib.suppress(AssertionError):
        stage.driver.call("setGlobalConcurrency", queue="q", concurrency=None)
    stage.client.delete("bull:q:limiter")
    stage.driver.call("work", queue="q", worker="w", script=script)
    stage.settle("q", waiting=0, active=0)
    stage.driver.call("stopWorker", worker="w")


def _retry(stage: Stage) -> None:
    (failed,) = stage.client.zrange("bull:q:failed", 0, 0)
    stage.driver.call("retry", queue="q", jobId=failed.decode(), state="failed")


def _clean(stage: Stage) -> None:
    stage.driver.call("clean", queue="q", state="completed", grace=0, limit=1)


def _drain(stage: Stage) -> None:
    stage.driver.call("drain", queue="q", delayed=True)


def _obliterate(stage: Stage) -> None:
    stage.add("q")
    stage.driver.call("pause", queue="q")
    stage.driver.call("obliterate", queue="q", force=True)


STEPS: tuple[Callable[[Stage], None], ...] = (
    _add, _add_lifo, _add_delayed, _add_prioritized, _duplicate, _promote, _change_priority, _remove, _pause, _add,
    _limit, _schedule, _rate_limit, _fail, _retry, _complete, _clean, _add, _drain, _obliterate,
)  # fmt: skip


async def test_whatever_happens_to_a_quiet_queue_is_seen_by_the_next_look(server: Server, stage: Stage) -> None:
    stage.add("q", jobId="first")
    stage.add("q", priority=2, jobId="urgent")
    stage.add("q")
    wrong: list[tuple[str, str]] = []
    async with reading(server, "bull:q") as old:
        for step in STEPS:
            for _ in range(LOOKS):
                await look(old)
            await asyncio.to_thread(step, stage)
            told = await look(old)
            async with reading(server, "bull:q") as new:
                truth = await look(new)
            wrong += [(step.__name__, what) for what in differences(told, truth)]

    assert wrong == []


FIELDS = (
    "jobs", "paused", "waiting_since", "prioritized_since", "active_since_ms", "waiting_children_since_ms",
    "failed_since_ms", "due_ms", "last_completed_ms", "last_failed_ms", "workers", "unlocked", "concurrency_limit",
    "rate_limited_ms", "scheduler_count", "schedulers", "add_attempts", "events_added", "events_retained",
    "events_limit", "last_event_ms", "completed", "failed", "data_bytes", "layout", "problems",
)  # fmt: skip


def commands(client: redis.Redis) -> int:
    """Commands since the last reset, without those that the counting takes."""
    ours = ("cmdstat_info", "cmdstat_config|resetstat", "cmdstat_config")
    return sum(row["calls"] for name, row in client.info("commandstats").items() if name not in ours)


async def test_a_quiet_queue_costs_half_the_commands(server: Server, client: redis.Redis) -> None:
    with driving("node-6.7.0", server) as driver:
        for number in range(5):
            driver.call("add", queue="q", name="job", data={}, opts={"jobId": f"j{number}"})
    async with reading(server, "bull:q") as reader:
        costs = []
        for _ in range(LOOKS + FULL_EVERY):
            client.config_resetstat()
            await reader.snapshot()
            costs.append(commands(client))
    full, quiet = max(costs), min(costs)

    assert quiet <= full / 2
    assert costs[LOOKS:].count(quiet) == FULL_EVERY - 1


async def test_a_fleet_of_two_versions_wakes_it_with_its_paused_list(server: Server) -> None:
    """Up to BullMQ 5 pausing moves all jobs to another list, with one event; who added them was of version 6."""
    with driving("node-5.81.5", server) as old_fleet, driving("node-6.7.0", server) as new_fleet:
        old_fleet.call("getJobCounts", queue="q")
        jobs: list[Json] = [{"name": "job", "data": {}, "opts": {}} for _ in range(150)]
        new_fleet.call("addBulk", queue="q", jobs=jobs)
        async with reading(server, "bull:q") as old, reading(server, "bull:q") as new:
            for _ in range(LOOKS):
                await look(old)
            await asyncio.to_thread(old_fleet.call, "pause", queue="q")
            seen = [await look(old) for _ in range(3)]
            await look(new)
            truth = await look(new)

    assert [differences(told, truth) for told in seen] == [[], [], []]
    assert truth.jobs[State.PAUSED] == 150


async def test_what_left_no_event_that_is_still_there_wakes_it(server: Server, client: redis.Redis) -> None:
    with driving("node-6.7.0", server) as driver:
        driver.call("add", queue="q", name="job", data={}, opts={})
        driver.call("work", queue="q", worker="w", script={"*": {"fail": True}})
        wait_until(lambda: client.zcard("bull:q:failed") == 1, "the job to fail")
        driver.call("stopWorker", worker="w")
        async with reading(server, "bull:q") as reader:
            for _ in range(LOOKS):
                await look(reader)
            await asyncio.to_thread(driver.call, "clean", queue="q", state="failed", grace=0, limit=10)
            client.xtrim("bull:q:events", maxlen=0, approximate=False)
            told = await look(reader)

    assert (told.jobs[State.FAILED], told.failed_since_ms, told.events_retained) == (0, None, 0)


async def test_a_lost_connection_wakes_all(server: Server, client: redis.Redis) -> None:
    """Whoever answers on the next one may have older keys, and an older stream."""
    with driving("node-6.7.0", server) as driver:
        driver.call("add", queue="q", name="job", data={}, opts={})
    client.zadd("bull:q:failed", {"1": 1})
    async with reading(server, "bull:q") as reader:
        for _ in range(LOOKS):
            await look(reader)
        client.zadd("bull:q:failed", {"1": 2})
        assert (await look(reader)).failed_since_ms == 1  # nothing told of it
        for each in client.client_list():
            if each["name"] == "qobserve":
                client.client_kill(each["addr"])
        await asyncio.sleep(0.1)  # the end of the connection arrives
        told = await look(reader)

    assert told.failed_since_ms == 2


async def test_what_is_written_by_hand_is_seen_within_some_looks(server: Server, client: redis.Redis) -> None:
    with driving("node-6.7.0", server) as driver:
        driver.call("add", queue="q", name="job", data={}, opts={"jobId": "mine", "delay": HOUR})
    async with reading(server, "bull:q") as reader:
        for _ in range(LOOKS):
            before = await look(reader)
        client.zadd("bull:q:delayed", {"mine": 4096 * (before.due_ms or 0) + 4096 * HOUR})
        seen = [(await look(reader)).due_ms for _ in range(FULL_EVERY)]

    assert seen[-1] == (before.due_ms or 0) + HOUR


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    with server.client() as opened:
        yield opened
