"""Keys of the application's own that look like a queue's cost nothing and falsify nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.planted import Job, Planted
from rig.scrape import exporting, key, once, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.servers import Server

HOUR = 3_600_000
MANY = 3000


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    with server.client() as opened:
        yield opened


def commands(client: redis.Redis) -> int:
    """Commands that the server has done."""
    stats = client.info("commandstats")
    return sum(
        int(each["calls"]) for name, each in stats.items() if not name.startswith(("cmdstat_info", "cmdstat_scan"))
    )


def test_they_are_no_queues_cost_no_scrape_and_leave_ages_exact(server: Server, client: redis.Redis) -> None:
    jobs = [Job(age=9000 - number) for number in range(80)]
    jobs[40] = Job(age=HOUR)
    Planted(wait=jobs).plant(client, "real")
    with client.pipeline(transaction=False) as pipe:
        for number in range(MANY):
            pipe.set(f"user:{number}:id", number)
            pipe.hset(f"app:{number}:meta", mapping={"version": "3"})
        pipe.execute()
    with exporting("--redis.url", server.url, "--discovery.interval", "1h") as exporter:
        exporter.samples()
        before = commands(client)
        samples = exporter.samples()
        spent = commands(client) - before
    assert samples[key("bullmq_queues")] == 1
    assert spent < 300
    age = samples[key("bullmq_queue_oldest_job_age_seconds", prefix="bull", queue="real", state="waiting")]
    assert 3600 <= age < 3660


def test_a_queue_that_begins_under_a_strangers_name_is_found(server: Server, client: redis.Redis) -> None:
    client.set("app:later:id", 7)
    with exporting("--redis.url", server.url, "--discovery.interval", "1s") as exporter:
        assert exporter.samples()[key("bullmq_queues")] == 0
        Planted(wait=[Job(age=2000)]).plant(client, "later", prefix="app")
        waiting = key("bullmq_queue_jobs", prefix="app", queue="later", state="waiting")
        wait_until(lambda: exporter.samples().get(waiting) == 1, "the queue", timeout=5)


def test_a_queue_stays_one_when_eviction_takes_what_tells_it(server: Server, client: redis.Redis) -> None:
    Planted(wait=[Job(age=2000)]).plant(client, "evicted")
    with exporting("--redis.url", server.url, "--discovery.interval", "500ms") as exporter:
        waiting = key("bullmq_queue_jobs", prefix="bull", queue="evicted", state="waiting")
        assert exporter.samples()[waiting] == 1
        client.delete("bull:evicted:meta", "bull:evicted:events")
        found = key("bullmq_discovery_duration_seconds")
        first = exporter.samples()[found]
        wait_until(lambda: exporter.samples()[found] != first, "another search", timeout=5)
        assert exporter.samples()[waiting] == 1


@pytest.mark.parametrize("score", ["inf", "-inf"])
def test_priorities_beyond_all_numbers_take_nobody_along(server: Server, client: redis.Redis, score: str) -> None:
    Planted(wait=[Job(age=2000)]).plant(client, "well")
    Planted(wait=[Job(age=2000)]).plant(client, "odd")
    client.zadd("bull:odd:prioritized", {f"p{number}": float(score) for number in range(150)})
    done = once(server.url)
    samples = parse(done.text)
    assert done.code == 0
    for queue in ("well", "odd"):
        assert samples[key("bullmq_queue_jobs", prefix="bull", queue=queue, state="waiting")] == 1
    assert samples[key("bullmq_queue_jobs", prefix="bull", queue="odd", state="prioritized")] == 150
