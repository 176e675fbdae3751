"""A follower whose Redis goes, moves, hangs, refuses, or holds more than fits into memory."""

from __future__ import annotations

import asyncio
import logging
import time
import tracemalloc
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest
import redis
from redis.crc import key_slot
from rig.cluster import cluster
from rig.following import following, write_jobs
from rig.programs import KINDS
from rig.servers import ServerOptions, running

from qobserve.config import TargetSettings
from qobserve.model.keys import queue_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from rig.servers import Server

ACL = "qobserve on >pw %R~bull:* resetchannels -@all +@read -@dangerous +select +readonly +client|setname +info +time"
MEGABYTE = 1 << 20


def _said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "qobserve.reader"]


async def test_a_redis_that_is_down_costs_two_lines_and_no_event_after_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with running() as server:
        async with following(server.url, "q") as watch:
            await watch.caught_up()
            server.kill()
            await watch.until(lambda: watch.heard.lags.get("q", 0) > 2, "the lag to be told")
            assert not watch.follower.caught_up
            server.start()
            with server.client() as client:
                write_jobs(client, "q", 4)
            await watch.until(lambda: watch.heard.total["completed"] == 4, "four jobs")
            await watch.until(lambda: watch.heard.lags["q"] == 0, "the lag to end")
            await watch.caught_up()
    assert watch.heard.total == {"added": 4, "completed": 4}
    assert not watch.heard.lost
    assert _said(caplog) == ["events cannot be followed", "events are followed again"]


async def test_following_begins_when_redis_does(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with running() as server:
        server.kill()
        async with following(server.url, "q") as watch:
            await watch.until(lambda: bool(_said(caplog)), "the first line")
            server.start()
            await watch.caught_up()
            with server.client() as client:
                write_jobs(client, "q", 4)
            await watch.until(lambda: watch.heard.total["completed"] == 4, "four jobs")
    assert _said(caplog) == ["events cannot be followed", "events are followed again"]


async def test_a_redis_that_hangs_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with running() as server:
        settings = TargetSettings(url=server.url, timeout=0.5, connect_timeout=0.5)
        async with following(settings, "q") as watch:
            await watch.caught_up()
            server.freeze()
            try:
                await watch.until(lambda: bool(_said(caplog)), "the first line")
            finally:
                server.thaw()
            with server.client() as client:
                write_jobs(client, "q", 4)
            await watch.until(lambda: watch.heard.total["completed"] == 4, "four jobs")
            await watch.caught_up()
    assert watch.heard.total == {"added": 4, "completed": 4}
    assert _said(caplog) == ["events cannot be followed", "events are followed again"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_user_who_may_only_read_is_enough(kind: str) -> None:
    user = ACL.replace("%R~", "~") if kind == "redis-6.2" else ACL
    with running(kind, ServerOptions(users=(user,))) as server, server.client() as client:
        settings = TargetSettings(url=f"redis://qobserve:pw@{server.address}")
        async with following(settings, "q", cards=True) as watch:
            await watch.caught_up()
            client.hset("bull:q:9", mapping={"name": "j", "opts": "{}"})
            client.xadd("bull:q:events", {"event": "added", "jobId": "9", "name": "j"})
            write_jobs(client, "q", 3, first=10)
            await watch.until(lambda: watch.heard.total["completed"] == 3, "three jobs")
            await watch.caught_up()
            log = client.execute_command("ACL", "LOG")
    assert log == []
    assert watch.heard.total["added"] == 4


async def test_nothing_is_sent_but_reading_commands(server: Server) -> None:
    with server.client() as client, client.monitor() as monitor:
        async with following(server.url, "q", cards=True) as watch:
            await watch.caught_up()
            with server.client(client_name="writer") as writer:
                write_jobs(writer, "q", 3)
            await watch.until(lambda: watch.heard.total["completed"] == 3, "three jobs")
            await watch.caught_up()
        client_of = monitor.connection
        seen = set()
        client_of._sock.settimeout(1)  # noqa: SLF001 - the library waits for ever
        with suppress(redis.TimeoutError, TimeoutError):
            while True:
                said = monitor.next_command()
                if said["client_type"] == "tcp":
                    seen.add(" ".join(said["command"].split()[: 2 if said["command"].startswith("XINFO") else 1]))
    assert seen <= {"CLIENT", "TIME", "INFO", "XREAD", "XINFO STREAM", "HGET", "GET", "HMGET"}
    assert {"XREAD", "XINFO STREAM"} <= seen


async def test_queues_of_a_cluster_are_followed_where_they_are() -> None:
    names = [f"{{{number}}}" for number in range(12)]
    with cluster() as nodes:
        settings = TargetSettings(url=nodes[0].url, cluster=True)
        client = redis.RedisCluster(host="127.0.0.1", port=nodes[0].port)
        try:
            async with following(settings, *names) as watch:
                await watch.caught_up()
                for name in names:
                    for job in range(3):
                        client.xadd(f"bull:{name}:events", {"event": "added", "jobId": job, "name": "j"})
                await watch.until(lambda: watch.heard.total["added"] == 36, "all jobs")
                nodes[2].kill()
                held = [name for name in names if key_slot(f"bull:{name}:events".encode()) < 2 * 16384 // 3]
                for name in held:
                    client.xadd(f"bull:{name}:events", {"event": "added", "jobId": "9", "name": "j"})
                await watch.until(lambda: watch.heard.total["added"] == 36 + len(held), "those of the other nodes")
        finally:
            client.close()
    assert 0 < len(held) < len(names)
    assert not watch.heard.lost


@pytest.mark.parametrize("how", ["the primary dies", "a person asks for it"])
async def test_a_failover_is_followed_through_sentinel(how: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with (
        running() as primary,
        running(options=ServerOptions(replica_of=primary)) as replica,
        running(options=ServerOptions(sentinel_of=primary)) as sentinel,
        sentinel.client() as asked,
    ):
        settings = TargetSettings(sentinel=(sentinel.address,), sentinel_master="mymaster")
        async with following(settings, "q") as watch:
            await watch.caught_up()
            await watch.until(lambda: _is_known(asked), "Sentinel to know the replica")
            with primary.client() as first:
                write_jobs(first, "q", 2)
                first.wait(1, 5000)
            await watch.until(lambda: watch.heard.total["completed"] == 2, "two jobs")
            if how == "the primary dies":
                primary.kill()
            else:
                asked.execute_command("SENTINEL", "FAILOVER", "mymaster")
            await watch.until(lambda: _primary(asked) == replica.port, "the failover", timeout=40)
            with replica.client() as second:
                write_jobs(second, "q", 3, first=3)
                await watch.until(lambda: _is_followed(second), "the new primary to be followed")
            await watch.until(lambda: watch.heard.total["completed"] == 5, "three more")
            await watch.caught_up()
    assert watch.heard.total == {"added": 5, "completed": 5}
    assert not watch.heard.lost
    assert _said(caplog) == ["events cannot be followed", "events are followed again"]


def _is_followed(client: redis.Redis) -> bool:
    return any(other["name"] == "qobserve" for other in client.client_list())


def _primary(sentinel: redis.Redis) -> int:
    address = sentinel.sentinel_get_master_addr_by_name("mymaster")
    return address[1] if isinstance(address, tuple) else 0


def _is_known(sentinel: redis.Redis) -> bool:
    replicas = sentinel.sentinel_slaves("mymaster")
    return bool(replicas) and not replicas[0]["is_disconnected"] and replicas[0]["slave-repl-offset"] > 0


@asynccontextmanager
async def pulse() -> AsyncIterator[list[float]]:
    """How long the loop was kept from others, each time."""
    gaps: list[float] = []

    async def beat() -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.005)
            gaps.append(time.monotonic() - began - 0.005)

    task = asyncio.create_task(beat())
    try:
        yield gaps
    finally:
        task.cancel()


@pytest.mark.parametrize(("entries", "size"), [(3_000, 100_000), (12, 10 * MEGABYTE)])
async def test_large_values_fill_neither_memory_nor_the_loop(entries: int, size: int) -> None:
    with running() as server, server.client() as client:
        async with following(server.url) as watch:
            await watch.caught_up()
            pipe = client.pipeline(transaction=False)
            value = b"x" * size
            for job in range(entries):
                pipe.xadd("bull:q:events", {"event": "completed", "jobId": job, "returnvalue": value})
                if job % 10 == 9:
                    pipe.execute()
            pipe.execute()
            del value
            tracemalloc.start()
            try:
                watch.queues.append(queue_id("bull", "q"))
                async with pulse() as gaps:
                    await watch.until(lambda: watch.heard.total["completed"] == entries, "all", timeout=60)
                    await watch.caught_up()
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
    assert peak < 130 * MEGABYTE
    assert sorted(gaps)[int(len(gaps) * 0.99)] < 0.1


async def test_many_idle_queues_cost_redis_few_commands(server: Server, redis_client: redis.Redis) -> None:
    names = [f"q{number}" for number in range(1_000)]
    pipe = redis_client.pipeline(transaction=False)
    for name in names:
        pipe.xadd(f"bull:{name}:events", {"event": "added", "jobId": "1", "name": "j"})
    pipe.execute()
    async with following(server.url, *names) as watch:
        await watch.caught_up()
        redis_client.config_resetstat()
        used, began = time.process_time(), time.monotonic()
        await asyncio.sleep(3)
        seconds, used = time.monotonic() - began, time.process_time() - used
        stats = redis_client.info("commandstats")
        write_jobs(redis_client, "q777", 1)
        await watch.until(lambda: watch.heard.total["completed"] == 1, "a job of one of them")
    assert stats["cmdstat_xread"]["calls"] / seconds < 150
    assert set(stats) <= {"cmdstat_xread", "cmdstat_config|resetstat", "cmdstat_info"}
    assert used / seconds < 0.1, "the target is 0.02; this only catches a busy loop on a busy machine"
