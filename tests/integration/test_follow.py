"""Events as they come: what is counted, from when on, and what of it survives when streams come and go."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import pytest
from rig.drivers import driving
from rig.flood import FloodOptions, flooding
from rig.following import LIMIT, following, write_jobs

from qobserve.model.keys import queue_id
from qobserve.model.run import Run

if TYPE_CHECKING:
    import redis
    from rig.drivers import Driver
    from rig.flood import Flood
    from rig.following import Listener
    from rig.ledger import Ledger
    from rig.servers import Server


def _expected(ledger: Ledger) -> dict[str, dict[str, int]]:
    return {
        name: {
            "added": queue.added,
            "completed": queue.completed,
            "failed": queue.failed,
            "retried": queue.retried,
            "attempts_failed": queue.attempts_failed,
        }
        for name, queue in ledger.queues.items()
    }


def _heard(heard: Listener, ledger: Ledger) -> dict[str, dict[str, int]]:
    return {name: {kind: heard.counts[name][kind] for kind in kinds} for name, kinds in _expected(ledger).items()}


@pytest.mark.parametrize(
    ("name", "jobs"), [("node-6.7.0", 20_000), ("node-5.81.5", 2_000), ("node-4.18.3", 2_000), ("python-3.4.4", 2_000)]
)
async def test_no_event_of_a_flood_is_missed(server: Server, name: str, jobs: int) -> None:
    options = FloodOptions(jobs=jobs)
    async with following(server.url, *options.queues) as watch:
        with flooding(name, server, options) as flood:
            await watch.caught_up()
            ledger = await _flooded(flood)
            await watch.until(lambda: _heard(watch.heard, ledger) == _expected(ledger), f"{_expected(ledger)}")
            await watch.caught_up()
    assert _heard(watch.heard, ledger) == _expected(ledger)
    assert not watch.heard.lost
    assert not watch.heard.parts


async def _flooded(flood: Flood) -> Ledger:
    flood.go()
    return await asyncio.to_thread(flood.ledger)


async def test_what_was_there_before_is_not_counted(server: Server, redis_client: redis.Redis) -> None:
    write_jobs(redis_client, "q", 5)
    async with following(server.url, "q") as watch:
        await watch.caught_up()
        write_jobs(redis_client, "q", 2, first=6)
        await watch.until(lambda: watch.heard.total["completed"] == 2, "two jobs")
    assert watch.heard.total == {"added": 2, "completed": 2}
    assert not watch.heard.lost


async def test_the_retained_past_is_told_as_not_live_where_it_is_wanted(
    server: Server, redis_client: redis.Redis
) -> None:
    write_jobs(redis_client, "q", 5)
    async with following(server.url, "q", past=True) as watch:
        await watch.caught_up()
        write_jobs(redis_client, "q", 2, first=6)
        await watch.until(lambda: watch.heard.total["completed"] == 2, "two jobs")
    runs = [(run.job, run.live) for run in _runs(watch.heard)]
    assert runs == [*((str(job), False) for job in range(1, 6)), ("6", True), ("7", True)]
    assert watch.heard.total == {"added": 2, "completed": 2}


async def test_a_queue_that_is_found_later_is_counted_from_its_first_event(
    server: Server, redis_client: redis.Redis
) -> None:
    async with following(server.url) as watch:
        await watch.caught_up()
        write_jobs(redis_client, "young", 50)
        watch.queues.append(queue_id("bull", "young"))
        await watch.until(lambda: watch.heard.total["completed"] == 50, "all jobs")
    assert watch.heard.total == {"added": 50, "completed": 50}
    assert not watch.heard.lost


async def test_what_is_trimmed_before_a_queue_is_found_is_missed_and_made_up(
    server: Server, redis_client: redis.Redis
) -> None:
    async with following(server.url) as watch:
        await watch.caught_up()
        events = write_jobs(redis_client, "young", 4_000)
        retained = redis_client.xlen("bull:young:events")
        watch.queues.append(queue_id("bull", "young"))
        await watch.until(lambda: watch.heard.total["completed"] == 4_000, "all jobs")
        await watch.caught_up()
    assert LIMIT <= retained < events
    assert watch.heard.lost == {"young": events - retained}
    assert watch.heard.total == {"added": 4_000, "completed": 4_000}
    assert ("young", "retried") in watch.heard.parts
    assert ("young", "completed") not in watch.heard.parts


async def test_a_queue_that_existed_is_not_taken_for_a_new_one_before_the_search_is_complete(
    server: Server, redis_client: redis.Redis
) -> None:
    complete = False
    async with following(server.url, discovered=lambda: complete) as watch:
        started = lambda: watch.follower._following.start_ms is not None  # noqa: E731, SLF001 - nobody else needs it
        await watch.until(started, "contact")
        events = write_jobs(redis_client, "old", 4_000)
        watch.queues.append(queue_id("bull", "old"))
        await watch.until(lambda: "old" in watch.heard.counts, "the queue to be known")
        complete = True
        await watch.caught_up()
    assert events > redis_client.xlen("bull:old:events"), "so that nothing tells how much is older than we are"
    assert not watch.heard.lost
    assert not watch.heard.total


async def test_a_queue_that_vanishes_and_returns_is_not_counted_twice(
    server: Server, redis_client: redis.Redis
) -> None:
    queue = queue_id("bull", "q")
    async with following(server.url, "q") as watch:
        await watch.caught_up()
        write_jobs(redis_client, "q", 3)
        await watch.until(lambda: watch.heard.total["completed"] == 3, "three jobs")
        watch.queues.clear()
        await watch.until(lambda: watch.heard.forgotten == ["q"], "the queue to be forgotten")
        write_jobs(redis_client, "q", 2, first=4)
        watch.queues.append(queue)
        await watch.until(lambda: watch.heard.total["completed"] == 2, "two jobs")
        await watch.caught_up()
    assert watch.heard.total == {"added": 2, "completed": 2}
    assert not watch.heard.lost


@pytest.mark.parametrize("name", ["node-6.7.0", "node-4.18.3"])
async def test_a_queue_that_is_obliterated_and_begins_again(server: Server, name: str) -> None:
    with driving(name, server) as driver:
        await _add(driver, 3)
        async with following(server.url, "q") as watch:
            await watch.caught_up()
            await _add(driver, 2)
            await watch.until(lambda: watch.heard.total["added"] == 2, "two jobs")
            await driver.acall("obliterate", queue="q", force=True)
            await _add(driver, 4)
            await watch.until(lambda: watch.heard.total["added"] == 6, "four jobs")
            await watch.caught_up()
        assert watch.heard.counts["q"]["added"] == 6
        assert not watch.heard.lost


async def _add(driver: Driver, jobs: int) -> None:
    for _ in range(jobs):
        await driver.acall("add", queue="q", name="job")


async def test_a_stream_that_was_deleted_begins_again(server: Server, redis_client: redis.Redis) -> None:
    write_jobs(redis_client, "q", 100)
    async with following(server.url, "q") as watch:
        await watch.caught_up()
        redis_client.flushall()
        write_jobs(redis_client, "q", 10)
        await watch.until(lambda: watch.heard.total["completed"] == 10, "ten jobs")
        stream = watch.follower._streams[queue_id("bull", "q")]  # noqa: SLF001 - nobody else needs to know it
        await watch.until(lambda: stream.ledger.base.added == 40, "the accounts to be settled")
        write_jobs(redis_client, "q", 5, first=11)
        await watch.until(lambda: watch.heard.total["completed"] == 15, "five more")
        await watch.caught_up()
    assert watch.heard.total == {"added": 15, "completed": 15}
    assert not watch.heard.lost


async def test_a_key_that_is_no_stream_harms_no_other_queue(
    server: Server, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    queues = [f"q{number}" for number in range(60)]
    redis_client.set("bull:q7:events", "no stream")
    async with following(server.url, *queues) as watch:
        await watch.caught_up()
        redis_client.set("bull:q9:events", "no stream either")
        for name in ("q1", "q59"):
            write_jobs(redis_client, name, 3)
        await watch.until(lambda: watch.heard.total["completed"] == 6, "the jobs of two queues")
        redis_client.delete("bull:q9:events")
        write_jobs(redis_client, "q9", 2)
        await watch.until(lambda: watch.heard.counts["q9"]["completed"] == 2, "the jobs of the mended queue")
    lines = [(record.getMessage(), getattr(record, "queue", "")) for record in caplog.records]
    assert ("the events of a queue cannot be followed", "bull:q7") in lines
    assert len([line for line in lines if "cannot" in line[0]]) == 2
    assert ("the events of a queue are followed again", "bull:q9") in lines


async def test_cards_are_read_while_the_jobs_are_there(server: Server) -> None:
    with driving("node-6.7.0", server) as driver:
        async with following(server.url, "q", cards=True) as watch:
            await watch.caught_up()
            await driver.acall("add", queue="q", name="welcome", opts={"attempts": 3, "delay": 50})
            await driver.acall("work", queue="q", worker="w", options={"name": "left"})
            await watch.until(lambda: bool(_runs(watch.heard)), "the run")
    (run,) = _runs(watch.heard)
    assert run.card is not None
    assert (run.card.name, run.card.attempts, run.card.delay_ms) == ("welcome", 3, 50)


def _runs(heard: Listener) -> list[Run]:
    return [value for value in heard.values if isinstance(value, Run)]


class Broken:
    """A listener that fails whatever it is told."""

    def __getattr__(self, name: str) -> object:
        raise LookupError(name)


async def test_a_listener_that_fails_costs_the_others_nothing(
    server: Server, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    async with following(server.url, "q", others=[Broken()]) as watch:
        await watch.caught_up()
        write_jobs(redis_client, "q", 30)
        await watch.until(lambda: watch.heard.total["completed"] == 30, "all jobs")
    assert [record.getMessage() for record in caplog.records].count(
        "a listener to events failed; this is a defect of qobserve, please report it"
    ) == 1
