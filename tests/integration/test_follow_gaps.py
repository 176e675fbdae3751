"""What happened while a follower could not read is counted, made up where Redis still knows it, and else admitted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.drivers import driving
from rig.flood import FloodOptions, flooding
from rig.following import LIMIT, following, write_jobs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import redis
    from rig.servers import Server

    from qobserve.reader.checkpoint import Counts

JOBS = 5_000
COUNTS_ENTRIES = ("redis-7.0", "redis-8.2", "valkey-9")


@pytest.mark.parametrize("kind", COUNTS_ENTRIES)
async def test_a_gap_is_counted_to_the_event_and_totals_are_made_up(
    servers: Callable[[str], Server], kind: str
) -> None:
    server = servers(kind)
    with server.client() as client:
        async with following(server.url, "q") as watch:
            await watch.caught_up()
            write_jobs(client, "q", 10)
            await watch.until(lambda: watch.heard.total["completed"] == 10, "the first jobs")
            written = write_jobs(client, "q", JOBS, first=11)  # in this very process, which cannot read meanwhile
            retained = client.xlen("bull:q:events")
            await watch.until(lambda: watch.heard.total["completed"] == JOBS + 10, "all jobs to be counted")
            await watch.caught_up()
            write_jobs(client, "q", 5, first=JOBS + 11)
            await watch.until(lambda: watch.heard.total["completed"] == JOBS + 15, "the last jobs")
            await watch.caught_up()
    assert watch.heard.lost == {"q": written - retained}
    assert watch.heard.total == {"added": JOBS + 15, "completed": JOBS + 15}
    assert {kind for _, kind in watch.heard.parts}.isdisjoint({"added", "completed"})
    assert ("q", "retried") in watch.heard.parts


async def test_before_redis_7_a_gap_is_known_by_its_least_size(servers: Callable[[str], Server]) -> None:
    server = servers("redis-6.2")
    with server.client() as client:
        async with following(server.url, "q") as watch:
            await watch.caught_up()
            write_jobs(client, "q", 10)
            await watch.until(lambda: watch.heard.total["completed"] == 10, "the first jobs")
            await watch.caught_up()
            assert not watch.heard.lost
            written = write_jobs(client, "q", JOBS, first=11)
            retained = client.xlen("bull:q:events")
            await watch.until(lambda: watch.heard.total["completed"] == JOBS + 10, "all jobs to be counted")
            await watch.caught_up()
    assert 0 < watch.heard.lost["q"] <= written - retained
    assert watch.heard.total == {"added": JOBS + 10, "completed": JOBS + 10}
    assert ("q", "retried") in watch.heard.parts


async def test_without_the_workers_metrics_a_total_is_said_to_be_partial(
    server: Server, redis_client: redis.Redis
) -> None:
    async with following(server.url, "q") as watch:
        await watch.caught_up()
        write_jobs(redis_client, "q", 10, metrics=False)
        await watch.until(lambda: watch.heard.total["completed"] == 10, "the first jobs")
        write_jobs(redis_client, "q", JOBS, first=11, metrics=False)
        await watch.until(lambda: watch.heard.total["added"] == JOBS + 10, "all jobs to be counted")
        await watch.caught_up()
    assert ("q", "completed") in watch.heard.parts
    assert watch.heard.total["completed"] < JOBS


async def test_where_not_all_workers_keep_metrics_nothing_is_made_up(server: Server, redis_client: redis.Redis) -> None:
    async with following(server.url, "q") as watch:
        await watch.caught_up()
        write_jobs(redis_client, "q", 600)
        write_jobs(redis_client, "q", 600, first=601, metrics=False)
        await watch.until(lambda: watch.heard.total["completed"] == 1_200, "the first jobs")
        stream = watch.follower._streams[watch.queues[0]]  # noqa: SLF001 - nobody else needs to know it
        await watch.until(lambda: stream.ledger.base.added == 4_800, "the accounts to be settled")
        write_jobs(redis_client, "q", JOBS, first=1_201)
        await watch.until(lambda: bool(watch.heard.lost), "the gap")
        await watch.caught_up()
    assert ("q", "completed") in watch.heard.parts
    assert ("q", "completed") not in watch.heard.made


async def test_a_flood_while_nobody_reads(server: Server) -> None:
    options = FloodOptions(jobs=6_000, queues=("one", "two"), metrics=True)
    async with following(server.url, *options.queues) as watch:
        with flooding("node-6.7.0", server, options) as flood:
            await watch.caught_up()
            flood.go()
            ledger = flood.ledger()  # blocks this loop, and with it the follower, until all is over
            with server.client() as client:
                facts = [client.xinfo_stream(f"bull:{name}:events") for name in options.queues]
            written = sum(fact["entries-added"] for fact in facts)
            lost = written - sum(fact["length"] for fact in facts)
            await watch.until(lambda: watch.heard.lost.total() > 0, "the gap")
            await watch.until(lambda: watch.heard.total["completed"] == 5_880, "the completed jobs to be made up")
            await watch.caught_up()
    assert lost > 0
    assert watch.heard.lost.total() == lost
    for name, queue in ledger.queues.items():
        heard = watch.heard.counts[name]
        assert (heard["added"], heard["completed"], heard["failed"]) == (queue.added, queue.completed, queue.failed)


class Memory:
    """Counts that outlive their owner."""

    def __init__(self) -> None:
        self.counts: Counts = {}

    def saved(self) -> Counts:
        return {"q": {"": {"completed": 7}}}

    def restore(self, saved: Counts) -> None:
        self.counts = saved


async def test_what_happens_between_two_lives_is_counted_once(
    server: Server, redis_client: redis.Redis, tmp_path: Path
) -> None:
    file, memory = tmp_path / "follow.json", Memory()
    async with following(server.url, "q", checkpoint=file, memory=memory) as watch:
        await watch.caught_up()
        write_jobs(redis_client, "q", 3)
        await watch.until(lambda: watch.heard.total["completed"] == 3, "three jobs")
    written = write_jobs(redis_client, "q", JOBS, first=4)
    retained = redis_client.xlen("bull:q:events")
    async with following(server.url, "q", checkpoint=file, memory=memory) as watch:
        await watch.until(lambda: watch.heard.total["completed"] == JOBS, "the jobs of the time between")
        await watch.caught_up()
        write_jobs(redis_client, "q", 1, first=JOBS + 4)
        await watch.until(lambda: watch.heard.total["completed"] == JOBS + 1, "one more")
    assert retained >= LIMIT
    assert watch.heard.lost == {"q": written - retained}
    assert watch.heard.total == {"added": JOBS + 1, "completed": JOBS + 1}
    assert memory.counts == {"q": {"": {"completed": 7}}}


async def test_a_second_life_remembers_open_jobs_but_tells_nothing_twice(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "follow.json"
    with driving("node-6.7.0", server) as driver:
        async with following(server.url, "q", past=True, checkpoint=file) as watch:
            await watch.caught_up()
            await driver.acall("add", queue="q", name="job", opts={"removeOnComplete": True})
            await watch.until(lambda: watch.heard.total["added"] == 1, "the job")
        await driver.acall("work", queue="q", worker="w")
        with server.client() as client:
            ended = lambda: client.exists("bull:q:1") == 0  # noqa: E731 - one expression
            await asyncio.to_thread(wait_until, ended, "the job to end")
        async with following(server.url, "q", past=True, checkpoint=file) as watch:
            await watch.until(lambda: watch.heard.total["completed"] == 1, "the end of the job")
            await watch.caught_up()
    assert watch.heard.total == {"completed": 1}
    assert [value.ready_ms is not None for value in watch.heard.values if hasattr(value, "ready_ms")] == [True, True]


async def test_a_damaged_checkpoint_is_left_behind(
    server: Server, redis_client: redis.Redis, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "follow.json"
    file.write_text('{"format": "qobserve check', encoding="utf-8")
    async with following(server.url, "q", checkpoint=file) as watch:
        await watch.caught_up()
        write_jobs(redis_client, "q", 2)
        await watch.until(lambda: watch.heard.total["completed"] == 2, "two jobs")
    assert [record.getMessage() for record in caplog.records] == ["following begins anew"]
    assert file.read_text(encoding="utf-8").startswith('{"format": "qobserve checkpoint 1"')
