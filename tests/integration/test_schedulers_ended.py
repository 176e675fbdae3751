"""Schedulers that have come to their end neither hide those that go on, nor does one that only seems to have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig import oracle
from rig.child import wait_until
from rig.drivers import driving
from rig.planted import server_ms
from rig.scrape import exporting, key
from rig.servers import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.drivers import Driver
    from rig.scrape import Exporter, Samples

SHOWN = 20
"""Schedulers that are looked at in each queue."""

OVERDUE_MS = 5_500


def end(driver: Driver, client: redis.Redis, queue: str) -> None:
    """As many schedulers as are looked at, each of which has made its one run."""
    for number in range(SHOWN):
        driver.call("upsertScheduler", queue=queue, scheduler=f"once-{number}", repeat={"every": 500, "limit": 1})
    driver.call("work", queue=queue, worker=queue, concurrency=SHOWN)
    wait_until(lambda: oracle.read(client, queue).jobs["completed"] == SHOWN, "all of them to run")
    driver.call("stopWorker", worker=queue)


@pytest.fixture(scope="module")
def exporter() -> Iterator[Exporter]:
    """Watches queues whose schedulers nobody has served for a while."""
    with (
        running() as server,
        server.client() as client,
        driving("node-6.7.0", server) as driver,
        driving("node-4.18.3", server) as older,
    ):
        for queue in ("behind", "ended"):
            end(driver, client, queue)
        driver.call("upsertScheduler", queue="behind", scheduler="living", repeat={"every": 1000})
        now = server_ms(client)
        last = {"every": 1000, "limit": 1, "startDate": now + 1000}
        driver.call("upsertScheduler", queue="last-run", scheduler="s", repeat=last)
        driver.call("upsertScheduler", queue="end-date", scheduler="s", repeat={"every": 1500, "endDate": now + 2000})
        older.call("upsertScheduler", queue="colons", scheduler="id", name="tenant:eu:42", repeat={"every": 500})
        with exporting("--redis.url", server.url) as started:
            wait_until(lambda: all_are_late(client), "all runs to be overdue", timeout=15, poll=0.1)
            yield started


def all_are_late(client: redis.Redis) -> bool:
    newest = [client.zrange(key, -1, -1, withscores=True)[0][1] for key in client.keys("bull:*:repeat")]
    return server_ms(client) - max(newest) > OVERDUE_MS


def shown(samples: Samples, queue: str) -> set[str]:
    """The schedulers whose next run is shown."""
    return {
        dict(labels)["scheduler"]
        for name, labels in samples
        if name == "bullmq_job_scheduler_next_run_timestamp_seconds" and ("queue", queue) in labels
    }


def overdue(samples: Samples, queue: str) -> float | None:
    return samples.get(key("bullmq_queue_blocked", prefix="bull", queue=queue, reason="scheduler_overdue"))


def test_a_living_one_behind_as_many_that_have_ended_as_are_looked_at(exporter: Exporter) -> None:
    exporter.samples()
    samples = exporter.samples()

    assert shown(samples, "behind") == {"living"}
    assert overdue(samples, "behind") == 1
    assert samples[key("bullmq_job_schedulers", prefix="bull", queue="behind")] == SHOWN + 1


def test_none_is_overdue_where_all_have_ended(exporter: Exporter) -> None:
    exporter.samples()
    samples = exporter.samples()

    assert shown(samples, "ended") == set()
    assert overdue(samples, "ended") == 0
    assert samples[key("bullmq_job_schedulers", prefix="bull", queue="ended")] == SHOWN


@pytest.mark.parametrize(
    ("queue", "scheduler"),
    [
        pytest.param("last-run", "s", id="its last run by its limit has not come"),
        pytest.param("end-date", "s", id="its last run before its end date has not come"),
        pytest.param("colons", "tenant:eu:42:id:::500", id="a number in a repeatable job's name is no end date"),
    ],
)
def test_one_that_only_seems_to_have_ended_is_overdue(exporter: Exporter, queue: str, scheduler: str) -> None:
    samples = exporter.samples()

    assert shown(samples, queue) == {scheduler}
    assert overdue(samples, queue) == 1
