"""The age of jobs that real BullMQ moved about, against the moments at which the test saw them move."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rig import oracle
from rig.child import wait_until
from rig.drivers import driving
from rig.planted import server_ms
from rig.programs import missing
from rig.scrape import exporting, key, once, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.drivers import Driver, Json
    from rig.servers import Server

HOUR = 3_600_000
VERSIONS = ("node-6.7.0", "node-5.81.5", "node-4.18.3", "python-3.4.4")
LATE = 1.5
"""Seconds that a loaded machine may let pass between a move and the moment at which the test notes it."""


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    with server.client() as opened:
        yield opened


@pytest.fixture(params=VERSIONS)
def driver(request: pytest.FixtureRequest, server: Server) -> Iterator[Driver]:
    with driving(request.param, server) as started:
        yield started


def add(driver: Driver, queue: str, **opts: Json) -> str:
    job = driver.call("add", queue=queue, name="job", data={"key": "k"}, opts=opts)["jobId"]
    assert isinstance(job, str)
    return job


def settle(client: redis.Redis, queue: str, **jobs: int) -> None:
    def settled() -> bool:
        held = oracle.read(client, queue).jobs
        held["ready"] = held["waiting"] + held["paused"]
        return all(held[state] == count for state, count in jobs.items())

    wait_until(settled, f"{queue} to hold {jobs}", timeout=20)


def age(server: Server, queue: str, state: str = "waiting") -> float | None:
    samples = parse(once(server.url).text)
    return samples.get(key("bullmq_queue_oldest_job_age_seconds", prefix="bull", queue=queue, state=state))


def assert_since(server: Server, client: redis.Redis, queue: str, moved_ms: int, state: str = "waiting") -> None:
    """The exported age is the time since the test saw the job move, give or take how late it saw it."""
    before = (server_ms(client) - moved_ms) / 1000
    read = age(server, queue, state)
    after = (server_ms(client) - moved_ms) / 1000
    assert read is not None
    assert before - 0.1 <= read <= after + LATE


def test_retried_job_is_as_old_as_its_return_from_the_back_off(
    driver: Driver, server: Server, client: redis.Redis
) -> None:
    add(driver, "retried", attempts=5, backoff={"type": "fixed", "delay": 1500})
    driver.call("work", queue="retried", worker="w", script={"*": {"sleep": 800, "fail": True}})
    settle(client, "retried", delayed=1)
    driver.call("pause", queue="retried")
    settle(client, "retried", ready=1)
    returned = server_ms(client)
    time.sleep(1)
    assert_since(server, client, "retried", returned)
    client.delete("bull:retried:events")
    read = age(server, "retried")
    due = int(client.hget("bull:retried:1", "processedOn") or 0) + 1500  # a worker may have promoted it later
    assert read is not None
    assert (server_ms(client) - returned) / 1000 - LATE <= read <= (server_ms(client) - due) / 1000


def test_job_promoted_by_hand_is_as_old_as_its_promotion(driver: Driver, server: Server, client: redis.Redis) -> None:
    job = add(driver, "promoted", delay=HOUR)
    driver.call("promote", queue="promoted", jobId=job)
    promoted = server_ms(client)
    time.sleep(1)
    assert_since(server, client, "promoted", promoted)
    client.delete("bull:promoted:events")
    assert age(server, "promoted") is None


def test_parent_released_by_its_children_is_as_old_as_its_release(
    driver: Driver, server: Server, client: redis.Redis
) -> None:
    child: Json = {"name": "child", "queueName": "children", "data": {}}
    driver.call("addFlow", flow={"name": "parent", "queueName": "parents", "data": {}, "children": [child]})
    time.sleep(2)
    driver.call("work", queue="children", worker="c")
    settle(client, "parents", ready=1)
    assert_since(server, client, "parents", server_ms(client))


def test_stalled_job_is_as_old_as_its_return(driver: Driver, server: Server, client: redis.Redis) -> None:
    timers: dict[str, Json] = {"lockDuration": 1000, "stalledInterval": 500}
    add(driver, "stalled")
    with driving(driver.name, server) as victim:
        victim.call("work", queue="stalled", worker="v", script={"*": {"hang": True}}, options=timers)
        settle(client, "stalled", active=1)
        driver.call("pause", queue="stalled")
        time.sleep(2)
        victim.kill()
    assert age(server, "stalled", "active") is not None
    driver.call("work", queue="stalled", worker="w", options=timers)
    settle(client, "stalled", ready=1)
    assert_since(server, client, "stalled", server_ms(client))


def test_oldest_prioritized_job_is_not_the_most_urgent_one(driver: Driver, server: Server, client: redis.Redis) -> None:
    add(driver, "levels", priority=9)
    first = server_ms(client)
    time.sleep(1.2)
    add(driver, "levels", priority=1)
    add(driver, "levels", priority=9)
    assert_since(server, client, "levels", first, "prioritized")


def skewed(by: str) -> dict[str, str]:
    """The environment of a process whose wall clock is off."""
    found = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if found is None:
        missing("no libfaketime: it comes from the system's package libfaketime")
    return {"LD_PRELOAD": str(found), "FAKETIME": by, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@pytest.mark.parametrize("by", ["-1h", "+1h"])
def test_producer_with_a_wrong_clock_does_not_make_the_age_jump(server: Server, client: redis.Redis, by: str) -> None:
    with (
        driving("node-6.7.0", server) as right,
        driving("node-6.7.0", server, env=skewed(by)) as wrong,
        exporting("--redis.url", server.url, "--discovery.interval", "1s") as exporter,
    ):
        add(right, "early")
        series = key("bullmq_queue_oldest_job_age_seconds", prefix="bull", queue="skewed", state="waiting")
        add(wrong, "skewed")
        stored = client.hget("bull:skewed:1", "timestamp")
        assert abs(int(stored or 0) - server_ms(client)) > HOUR / 2
        added = server_ms(client)
        wait_until(lambda: series in exporter.samples(), "the queue to be seen", timeout=10)
        for _ in range(3):
            add(right, "skewed")
            add(wrong, "skewed")
            time.sleep(0.4)
            before = (server_ms(client) - added) / 1000
            assert before - 0.1 <= exporter.samples()[series] <= (server_ms(client) - added) / 1000 + LATE
        assert_since(server, client, "skewed", added)
