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
    from collections.abc import Awaitable, Callable, Iterator

    import redis
    from rig.drivers import Driver, Json
    from rig.scrape import Exporter
    from rig.servers import Server

    from qobserve.model.snapshot import QueueSnapshot

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


def test_new_priority_leaves_a_job_as_old_as_it_is(driver: Driver, exporter: Exporter, client: redis.Redis) -> None:
    """No event tells of it; that of the job's arrival, which the producer's clock does not falsify, still counts."""
    long_ago = server_ms(client) - HOUR
    added = add(driver, "urgent", priority=3, timestamp=long_ago)
    released = driver.call("addFlow", flow=flow("parents", timestamp=long_ago))["flow"]
    assert isinstance(released, dict)
    driver.call("work", queue="children", worker="w")
    wait_until(lambda: oracle.read(client, "parents").jobs["waiting"] == 1, "the parent to be released")
    assert age(exporter, "urgent", "prioritized") < LATE
    assert age(exporter, "parents") < LATE
    driver.call("changePriority", queue="urgent", jobId=added, priority=7)
    driver.call("changePriority", queue="parents", jobId=released["jobId"], priority=5)
    samples = exporter.samples()
    for queue in ("urgent", "parents"):
        of = {"prefix": "bull", "queue": queue, "state": "prioritized"}
        assert samples[key("bullmq_queue_oldest_job_age_seconds", **of)] < LATE
        assert samples[key("bullmq_queue_oldest_job_age_exact", **of)] == 1


def flow(queue: str, **opts: Json) -> Json:
    child: Json = {"name": "child", "queueName": "children", "data": {}}
    return {"name": "parent", "queueName": queue, "data": {}, "opts": opts, "children": [child]}


@pytest.mark.parametrize("known", [60, 150], ids=["all were shown", "some were shown"])
def test_burst_of_more_urgent_jobs_does_not_hide_the_oldest_prioritized_one(
    exporter: Exporter, client: redis.Redis, known: int
) -> None:
    Planted(levels={5: [Job(age=60_000 - number) for number in range(known)]}).plant(client, "burst")
    assert age(exporter, "burst", "prioritized") >= 60
    now_ms = server_ms(client)
    put(client, "burst", {priority: [Job(age=0)] * 150 for priority in (1, 2, 3)}, now_ms)
    samples = exporter.samples()
    assert samples[key("bullmq_queue_oldest_job_age_seconds", prefix="bull", queue="burst", state="prioritized")] >= 60
    assert age(exporter, "burst", "prioritized") >= 60


def put(client: redis.Redis, queue: str, levels: dict[int, list[Job]], now_ms: int) -> None:
    """Prioritized jobs beside those that are there."""
    with client.pipeline() as pipe:
        for priority, jobs in levels.items():
            for number, job in enumerate(jobs):
                name = f"{priority}-{number}"
                pipe.hset(f"bull:{queue}:{name}", mapping=job.fields(now_ms))  # type: ignore[arg-type]  # a union
                pipe.zadd(f"bull:{queue}:prioritized", {name: priority * 2**32 + number})
        pipe.execute()


async def test_adjacent_levels_that_come_up_out_of_sight_are_found_one_a_look(
    client: redis.Redis, watching: Callable[..., Callable[[], Awaitable[QueueSnapshot]]]
) -> None:
    now_ms = server_ms(client)
    put(client, "q", {1: [Job(age=1_000)] * 300}, now_ms)
    look = watching("bull:q")
    for _ in range(2):
        await look()
    put(client, "q", {level: [Job(age=500)] for level in range(2, 6)}, now_ms)
    put(client, "q", {6: [Job(age=HOUR)], 50: [Job(age=500)] * 2_000}, now_ms)
    found = [(await look()).prioritized_since for _ in range(6)]
    ages = [now_ms - since.ms for since in found if since is not None]
    assert ages == [1_000] * 5 + [HOUR]


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
