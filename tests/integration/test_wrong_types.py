"""A key of the wrong type, such as a job called `wait`, costs its own queue that part, and no other queue anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.drivers import DEFAULT_DRIVER, OperationError, driving
from rig.log import failed_collectors, logged, of_queue, scrape, up
from rig.scrape import exporting, key
from rig.servers import running
from rig.specimen import job_hash, plant

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.scrape import Exporter
    from rig.servers import Server

COUNTED = {
    "wait": "waiting",
    "paused": "paused",
    "active": "active",
    "prioritized": "prioritized",
    "delayed": "delayed",
    "waiting-children": "waiting-children",
    "completed": "completed",
    "failed": "failed",
}
CONCERNED = {
    "wait": ({"depth", "age"}, "LLEN"),
    "paused": ({"depth", "age"}, "LRANGE"),
    "active": ({"depth", "age"}, "LRANGE"),
    "prioritized": ({"depth", "age"}, "ZCARD"),
    "delayed": ({"depth", "age"}, "ZCARD"),
    "waiting-children": ({"depth", "age"}, "ZCARD"),
    "completed": ({"depth", "throughput"}, "ZCARD"),
    "failed": ({"depth", "age", "throughput"}, "ZCARD"),
    "id": ({"throughput"}, "GET"),
    "events": ({"throughput"}, "XINFO STREAM"),
    "limiter": ({"limits"}, "GET"),
    "repeat": ({"schedulers"}, "ZRANGE"),
}
"""By key: the collectors that lack something when it is a job's hash, and a command that is refused."""

HARMLESS = (
    "meta",
    "pc",
    "marker",
    "priority",
    "stalled",
    "stalled-check",
    "metrics:completed",
    "metrics:failed",
    "delay",
)
"""Keys that are a hash anyway, or that nothing is read from where the version is known."""


@pytest.fixture(scope="module")
def home() -> Iterator[Server]:
    with running() as server, server.client() as client:
        plant(client, "broken")
        plant(client, "well")
        yield server


@pytest.fixture(scope="module")
def exporter(home: Server) -> Iterator[Exporter]:
    with exporting("--redis.url", home.url) as started:
        yield started


@pytest.fixture
def client(home: Server) -> Iterator[redis.Redis]:
    with home.client() as connected:
        yield connected


class Replaced:
    """A key of the queue `broken` that holds something else for the length of a `with` block."""

    def __init__(self, client: redis.Redis, suffix: str, *, by: str = "hash") -> None:
        self._client = client
        self._key = f"bull:broken:{suffix}"
        self._by = by
        self._kept: bytes | None = None

    def __enter__(self) -> None:
        self._kept = self._client.dump(self._key)
        self._client.delete(self._key)
        if self._by == "hash":
            self._client.hset(self._key, mapping=job_hash(1))
        else:
            self._client.set(self._key, "no hash")

    def __exit__(self, *_: object) -> None:
        self._client.delete(self._key)
        if self._kept is not None:
            self._client.restore(self._key, 0, self._kept)


@pytest.mark.parametrize("suffix", CONCERNED)
def test_a_job_named_as_a_key(exporter: Exporter, client: redis.Redis, suffix: str) -> None:
    collectors, command = CONCERNED[suffix]
    before = scrape(exporter)
    assert failed_collectors(before) == set()

    with Replaced(client, suffix):
        seen = scrape(exporter)

    assert up(seen) == 1
    assert of_queue(seen, "well") == of_queue(before, "well")
    expected = of_queue(before, "broken") | {key("bullmq_queue_read_success", prefix="bull", queue="broken"): 0.0}
    expected.pop(key("bullmq_queue_jobs", prefix="bull", queue="broken", state=COUNTED.get(suffix, "")), None)
    assert of_queue(seen, "broken") == expected
    assert failed_collectors(seen) == collectors
    assert logged(exporter, "level=warning", "queue=bull:broken", f"{command} bull:broken:{suffix}: WRONGTYPE")
    assert of_queue(scrape(exporter), "broken") == of_queue(before, "broken")
    assert logged(exporter, "a part is as it should be again", "queue=bull:broken")[-1] in exporter.child.log()[-2000:]


@pytest.mark.parametrize("suffix", HARMLESS)
def test_a_job_named_as_a_key_that_does_no_harm(exporter: Exporter, client: redis.Redis, suffix: str) -> None:
    before = scrape(exporter)

    with Replaced(client, suffix):
        seen = scrape(exporter)

    assert failed_collectors(seen) == set()
    assert all(value == before[series] for series, value in of_queue(seen, "broken").items() if "info" not in series[0])


@pytest.mark.parametrize(
    ("suffix", "collectors"),
    [
        ("meta", {"info", "limits", "throughput"}),
        ("metrics:completed", {"throughput"}),
        ("metrics:failed", {"throughput"}),
        ("2", {"age", "payload"}),
        ("4", {"age", "payload"}),
        ("7", {"age", "payload"}),
    ],
)
def test_a_string_where_a_hash_belongs(
    exporter: Exporter, client: redis.Redis, suffix: str, collectors: set[str]
) -> None:
    before = scrape(exporter)

    with Replaced(client, suffix, by="string"):
        seen = scrape(exporter)

    assert failed_collectors(seen) == collectors
    assert of_queue(seen, "well") == of_queue(before, "well")
    assert seen[key("bullmq_queue_read_success", prefix="bull", queue="broken")] == 0
    assert logged(exporter, "level=warning", "queue=bull:broken", f"bull:broken:{suffix}: WRONGTYPE")
    assert failed_collectors(scrape(exporter)) == set()


def test_what_is_not_known_is_not_denied(exporter: Exporter, client: redis.Redis) -> None:
    def blocked(reason: str) -> float | None:
        return scrape(exporter).get(key("bullmq_queue_blocked", prefix="bull", queue="broken", reason=reason))

    assert blocked("stalled") == 0
    with Replaced(client, "active"):
        assert blocked("stalled") is None
        assert blocked("concurrency_reached") is None
    client.hset("bull:broken:meta", "paused", 1)
    with Replaced(client, "wait"), Replaced(client, "paused"), Replaced(client, "prioritized"):
        assert blocked("paused") is None
    assert blocked("paused") == 1
    client.hdel("bull:broken:meta", "paused")


def test_a_priority_list_of_an_unknown_layout(client: redis.Redis, exporter: Exporter) -> None:
    plant(client, "unversioned", version=None)
    series = key("bullmq_queue_read_success", prefix="bull", queue="unversioned")
    wait_until(lambda: series in scrape(exporter), "the queue to be found", timeout=15, poll=0.3)

    client.hset("bull:unversioned:priority", mapping=job_hash(1))
    seen = scrape(exporter)
    client.delete("bull:unversioned:priority")

    assert failed_collectors(seen) == {"info"}
    assert seen[series] == 0
    assert scrape(exporter)[series] == 1


def test_real_bullmq_wrecks_its_own_queue() -> None:
    with running() as server, server.client() as client, driving(DEFAULT_DRIVER, server) as driver:
        driver.call("add", queue="well", name="job")
        with pytest.raises(OperationError, match="WRONGTYPE"):
            driver.call("add", queue="wrecked", name="job", opts={"jobId": "wait"})
        with exporting("--redis.url", server.url) as exporter:
            seen = scrape(exporter)
            assert seen[key("bullmq_queue_read_success", prefix="bull", queue="wrecked")] == 0
            assert seen[key("bullmq_queue_jobs", prefix="bull", queue="wrecked", state="delayed")] == 0
            assert key("bullmq_queue_jobs", prefix="bull", queue="wrecked", state="waiting") not in seen
            assert seen[key("bullmq_queue_jobs", prefix="bull", queue="well", state="waiting")] == 1
            assert {"depth", "age"} <= failed_collectors(seen)
            assert logged(exporter, "queue=bull:wrecked", "LLEN bull:wrecked:wait: WRONGTYPE")
            client.delete("bull:wrecked:wait")
            driver.call("add", queue="wrecked", name="job")
            seen = scrape(exporter)
            assert failed_collectors(seen) == set()
            assert seen[key("bullmq_queue_jobs", prefix="bull", queue="wrecked", state="waiting")] == 1
