"""Why work is not done: a reason is given where it holds, and where it only seems to hold none is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from rig import oracle
from rig.child import wait_until
from rig.drivers import driving
from rig.scrape import key, once, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.drivers import Driver
    from rig.scrape import Samples
    from rig.servers import Server

MINUTE = 60_000


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    with server.client() as opened:
        yield opened


@pytest.fixture
def driver(server: Server) -> Iterator[Driver]:
    with driving("node-6.7.0", server) as started:
        yield started


def scrape(server: Server) -> Samples:
    return parse(once(server.url).text)


def blocked(samples: Samples, queue: str, prefix: str = "bull") -> dict[str, float]:
    reasons = {}
    for (name, labels), value in samples.items():
        own = dict(labels)
        if name == "bullmq_queue_blocked" and (own["prefix"], own["queue"]) == (prefix, queue):
            reasons[own["reason"]] = value
    return reasons


def settle(client: redis.Redis, queue: str, **jobs: int) -> None:
    wait_until(
        lambda: all(oracle.read(client, queue).jobs[state] == count for state, count in jobs.items()),
        f"{queue} to hold {jobs}",
        timeout=20,
    )


@pytest.mark.parametrize("version", ["node-6.7.0", "node-5.81.5", "node-4.18.3"])
def test_scheduler_that_has_done_its_runs_is_not_overdue(server: Server, client: redis.Redis, version: str) -> None:
    with driving(version, server) as driver:
        driver.call("upsertScheduler", queue="done", scheduler="s", repeat={"every": 300, "limit": 2})
        driver.call("work", queue="done", worker="w")
        settle(client, "done", completed=2, delayed=0)
        time.sleep(6.5)
        samples = scrape(server)
        assert blocked(samples, "done").get("scheduler_overdue", 0) == 0
        assert samples[key("bullmq_job_schedulers", prefix="bull", queue="done")] == 1


def test_scheduler_that_nobody_serves_is_overdue(driver: Driver, server: Server) -> None:
    driver.call("upsertScheduler", queue="late", scheduler="s", repeat={"every": 300})
    time.sleep(6.5)
    assert blocked(scrape(server), "late")["scheduler_overdue"] == 1


def test_window_of_a_workers_own_limit_is_no_limit_while_it_is_paused_or_gone(
    driver: Driver, server: Server, client: redis.Redis
) -> None:
    own_limit = {"limiter": {"max": 100, "duration": MINUTE}}
    for queue in ("gone", "halted"):
        driver.call("work", queue=queue, worker=queue, options=own_limit)
        driver.call("add", queue=queue, name="job", data={}, opts={})
        settle(client, queue, completed=1)
    driver.call("stopWorker", worker="gone")
    driver.call("pause", queue="halted")
    for queue in ("gone", "halted"):
        driver.call("add", queue=queue, name="job", data={}, opts={})
    time.sleep(1.5)
    samples = scrape(server)
    for queue, reason in (("gone", "no_workers"), ("halted", "paused")):
        assert key("bullmq_queue_rate_limited_seconds", prefix="bull", queue=queue) not in samples
        assert {name for name, holds in blocked(samples, queue).items() if holds} == {reason}


def test_workers_own_limit_that_is_used_up(driver: Driver, server: Server, client: redis.Redis) -> None:
    driver.call("work", queue="used", worker="u", options={"limiter": {"max": 1, "duration": MINUTE}})
    for _ in range(3):
        driver.call("add", queue="used", name="job", data={}, opts={})
    settle(client, "used", completed=1, active=0)
    time.sleep(1.5)
    samples = scrape(server)
    assert 0 < samples[key("bullmq_queue_rate_limited_seconds", prefix="bull", queue="used")] <= 60
    assert blocked(samples, "used")["rate_limited"] == 1


@pytest.mark.parametrize("version", ["node-6.7.0", "node-5.81.5"])
def test_limit_by_hand_does_not_hold_workers_that_have_no_limit(
    server: Server, client: redis.Redis, version: str
) -> None:
    with driving(version, server) as driver:
        for _ in range(3):
            driver.call("add", queue="free", name="job", data={"behaviour": {"hang": True}}, opts={})
        driver.call("rateLimit", queue="free", ms=MINUTE)
        driver.call("work", queue="free", worker="w")
        settle(client, "free", active=1, waiting=2)
        samples = scrape(server)
        assert client.exists("bull:free:limiter") == 1
    assert key("bullmq_queue_rate_limited_seconds", prefix="bull", queue="free") not in samples
    assert not any(blocked(samples, "free").values())


def test_limit_by_hand_counts_while_no_job_runs_in_spite_of_it(driver: Driver, server: Server) -> None:
    driver.call("add", queue="held", name="job", data={}, opts={"delay": MINUTE})
    driver.call("rateLimit", queue="held", ms=MINUTE)
    assert 0 < scrape(server)[key("bullmq_queue_rate_limited_seconds", prefix="bull", queue="held")] <= 60


def test_workers_of_another_database_serve_no_queue_of_this_one(driver: Driver, server: Server) -> None:
    driver.call("add", queue="mail", name="job", data={}, opts={})
    elsewhere = {"QOBSERVE_REDIS_URL": server.url.removesuffix("/0") + "/1"}
    with driving("node-6.7.0", server, env=elsewhere) as other:
        other.call("work", queue="mail", worker="w")
        there = key("bullmq_queue_workers", prefix="bull", queue="mail")
        wait_until(
            lambda: parse(once(elsewhere["QOBSERVE_REDIS_URL"]).text).get(there) == 1, "the worker in database 1"
        )
        samples = scrape(server)
    assert samples[there] == 0
    assert blocked(samples, "mail")["no_workers"] == 1


def test_workers_of_a_queue_whose_name_holds_a_colon(server: Server, client: redis.Redis) -> None:
    with driving("node-4.18.3", server) as driver:
        driver.call("add", queue="x:y", name="job", data={}, opts={})
        driver.call("work", queue="x:y", worker="w")
        settle(client, "x:y", completed=1)
        assert scrape(server)[key("bullmq_queue_workers", prefix="bull:x", queue="y")] == 1
