"""What a running exporter remembers of jobs must never make it say what is no longer so."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from rig import oracle
from rig.child import wait_until
from rig.drivers import driving
from rig.planted import Job, Planted, server_ms
from rig.scrape import exporting, key

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.drivers import Driver, Json
    from rig.scrape import Exporter
    from rig.servers import Server

HOUR = 3_600_000
LATE = 1.5


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    with server.client() as opened:
        yield opened


@pytest.fixture
def driver(server: Server) -> Iterator[Driver]:
    with driving("node-6.7.0", server) as started:
        yield started


@pytest.fixture
def exporter(server: Server) -> Iterator[Exporter]:
    with exporting("--redis.url", server.url, "--discovery.interval", "500ms") as running:
        yield running


def add(driver: Driver, queue: str, **opts: Json) -> str:
    job = driver.call("add", queue=queue, name="job", data={"key": "k"}, opts=opts)["jobId"]
    assert isinstance(job, str)
    return job


def age(exporter: Exporter, queue: str, state: str = "waiting") -> float:
    series = key("bullmq_queue_oldest_job_age_seconds", prefix="bull", queue=queue, state=state)
    wait_until(lambda: series in exporter.samples(), f"the age of {queue}", timeout=10)
    return exporter.samples()[series]


def test_another_job_of_the_same_id_is_not_as_old_as_the_first(driver: Driver, exporter: Exporter) -> None:
    add(driver, "same", jobId="mine")
    time.sleep(2)
    assert age(exporter, "same") >= 2
    driver.call("remove", queue="same", jobId="mine")
    add(driver, "same", jobId="mine")
    assert age(exporter, "same") < LATE


def test_job_retried_by_hand_is_not_as_old_as_its_first_wait(
    driver: Driver, exporter: Exporter, client: redis.Redis
) -> None:
    add(driver, "again", jobId="a")
    time.sleep(2)
    assert age(exporter, "again") >= 2
    driver.call("work", queue="again", worker="w", script={"*": {"fail": True}})
    wait_until(lambda: oracle.read(client, "again").jobs["failed"] == 1, "the job to fail")
    driver.call("stopWorker", worker="w")
    driver.call("retry", queue="again", jobId="a", state="failed")
    assert age(exporter, "again") < LATE


def test_job_that_got_a_priority_is_no_longer_the_oldest_waiting_one(driver: Driver, exporter: Exporter) -> None:
    first = add(driver, "moved")
    time.sleep(2)
    assert age(exporter, "moved") >= 2
    driver.call("changePriority", queue="moved", jobId=first, priority=5)
    add(driver, "moved")
    assert age(exporter, "moved") < LATE
    assert age(exporter, "moved", "prioritized") >= 2


def test_burst_of_more_urgent_jobs_does_not_hide_the_oldest_prioritized_one(
    exporter: Exporter, client: redis.Redis
) -> None:
    Planted(levels={5: [Job(age=60_000 - number) for number in range(150)]}).plant(client, "burst")
    assert age(exporter, "burst", "prioritized") >= 60
    now_ms = server_ms(client)
    for priority in (1, 2, 3):
        for number in range(150):
            name = f"{priority}-{number}"
            client.hset(f"bull:burst:{name}", mapping=Job(age=0).fields(now_ms))  # type: ignore[arg-type]  # a union
            client.zadd("bull:burst:prioritized", {name: priority * 2**32 + number})
    assert age(exporter, "burst", "prioritized") >= 60


@pytest.mark.parametrize("by", [-HOUR, HOUR])
def test_many_jobs_of_a_producer_with_a_wrong_clock_at_once(
    driver: Driver, exporter: Exporter, client: redis.Redis, by: int
) -> None:
    began = server_ms(client)
    for count in (10, 300):
        jobs: list[Json] = [
            {"name": "s", "data": {}, "opts": {"timestamp": server_ms(client) + by}} for _ in range(count)
        ]
        driver.call("addBulk", queue="skewed", jobs=jobs)
        truth = (server_ms(client) - began) / 1000
        assert 0 <= age(exporter, "skewed") <= truth + LATE


def test_every_one_of_many_queues_gets_its_events_read(exporter: Exporter, driver: Driver) -> None:
    """Jobs promoted by hand have an age only by their events. That queues take turns is for the budget's own tests."""
    queues = [f"many-{number}" for number in range(150)]
    for queue in queues:
        job = add(driver, queue, delay=HOUR)
        driver.call("promote", queue=queue, jobId=job)

    def known() -> int:
        samples = exporter.samples()
        return sum(
            key("bullmq_queue_oldest_job_age_seconds", prefix="bull", queue=queue, state="waiting") in samples
            for queue in queues
        )

    wait_until(lambda: known() == len(queues), "all queues to have an age", timeout=20)
