"""A user who may not run one of the commands loses the part that it is for, and is told so once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.log import failed_collectors, logged, of_queue, scrape, up
from rig.scrape import exporting, key
from rig.servers import ServerOptions, running
from rig.specimen import job_hash, plant

from qobserve.metrics import COLLECTORS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.scrape import Exporter, Samples
    from rig.servers import Server

CONCERNED = {
    "time": {"age"},
    "info": {"redis_safety"},
    "llen": {"depth"},
    "lrange": {"age", "depth"},
    "lindex": {"age"},
    "zcard": {"depth", "info"},
    "zrange": {"age", "throughput", "schedulers"},
    "zrangebyscore": {"age"},
    "hmget": {"info", "limits", "throughput", "age"},
    "hget": {"throughput", "age"},
    "hstrlen": {"payload"},
    "get": {"throughput"},
    "pttl": {"limits"},
    "xinfo": {"throughput"},
    "xrevrange": {"age"},
    "client|list": {"workers"},
    "exists": {"info"},
}
"""By command: the collectors that cannot do without."""

OWNER = {family.name: collector.name for collector in COLLECTORS for family in collector.families}
DERIVED = {"bullmq_queue_blocked", "bullmq_queue_ready_jobs", "bullmq_queue_unlocked_jobs"}
"""Families that follow from what another collector reads, and go with it."""


@pytest.fixture(scope="module")
def home() -> Iterator[Server]:
    with running(options=ServerOptions(users=("watcher on >secret ~* &* +@all",))) as server, server.client() as client:
        plant(client, "q", version=None)
        client.zadd("bull:q:prioritized", {f"p{number}": 2**33 + number for number in range(150)})
        yield server


@pytest.fixture(scope="module")
def exporter(home: Server) -> Iterator[Exporter]:
    with exporting("--redis.url", f"redis://watcher:secret@{home.address}", "--discovery.interval", "1s") as started:
        yield started


@pytest.fixture
def client(home: Server) -> Iterator[redis.Redis]:
    with home.client() as connected:
        yield connected
        connected.execute_command("ACL", "SETUSER", "watcher", "+@all")


def forbid(client: redis.Redis, *rules: str) -> None:
    client.execute_command("ACL", "SETUSER", "watcher", *rules)


@pytest.mark.parametrize("command", CONCERNED)
def test_one_command_is_not_allowed(exporter: Exporter, client: redis.Redis, command: str) -> None:
    before = scrape(exporter)
    assert failed_collectors(before) == set()

    forbid(client, f"-{command}")
    add(client, f"first {command}")
    seen = scrape(exporter)
    add(client, f"second {command}")
    again = scrape(exporter)

    assert up(seen) == up(again) == 1
    assert failed_collectors(seen) == CONCERNED[command]
    assert {OWNER[name] for name in lost(before, seen)} <= CONCERNED[command]
    told = [line for line in logged(exporter, "level=warning", "NOPERM") if f"'{command}" in line]
    assert len(told) == len(CONCERNED[command])
    forbid(client, f"+{command}")
    assert failed_collectors(scrape(exporter)) == set()


def add(client: redis.Redis, job: str) -> None:
    """Put a job next in line; of one that was not seen before, hash, payload and event are asked."""
    client.hset(f"bull:q:{job}", mapping=job_hash(1))
    client.rpush("bull:q:wait", job)


def lost(before: Samples, after: Samples) -> set[str]:
    """Families of the queue or of Redis of which a series is not there any more."""
    return {name for name, _ in before.keys() - after.keys() if name not in DERIVED}


def test_neither_clock_is_allowed(exporter: Exporter, client: redis.Redis) -> None:
    forbid(client, "-time", "-info")
    assert up(scrape(exporter)) == 0
    forbid(client, "+time", "+info")
    assert up(scrape(exporter)) == 1


def test_nothing_is_allowed(exporter: Exporter, client: redis.Redis) -> None:
    forbid(client, "-@all")
    assert [up(scrape(exporter)) for _ in range(3)] == [0, 0, 0]
    forbid(client, "+@all")
    assert up(scrape(exporter)) == 1

    assert logged(exporter, "redis cannot be read", "reason=refused", "check the user, the password and the ACL")
    assert logged(exporter, "redis can be read again")


@pytest.mark.parametrize(("rule", "name", "failed"), [("+client", "qobserve", set()), ("-client", "", {"workers"})])
def test_connections_need_no_name(home: Server, client: redis.Redis, rule: str, name: str, failed: set[str]) -> None:
    client.execute_command("ACL", "SETUSER", "shy", "on", ">secret", "~*", "&*", "+@all", rule)
    with exporting("--redis.url", f"redis://shy:secret@{home.address}") as exporter:
        samples = scrape(exporter)
        names = {each["name"] for each in client.client_list() if each["user"] == "shy"}
    assert (up(samples), bool(of_queue(samples, "q"))) == (1, True)
    assert names == {name}
    assert failed_collectors(samples) == failed


def test_keys_are_not_allowed(home: Server, client: redis.Redis) -> None:
    plant(client, "foreign", prefix="other")
    forbid(client, "resetkeys", "~bull:*")
    with exporting("--redis.url", f"redis://watcher:secret@{home.address}") as exporter:
        samples = scrape(exporter)
    forbid(client, "~*")

    assert failed_collectors(samples) == set()
    assert samples[key("bullmq_queue_jobs", prefix="bull", queue="q", state="active")] == 1
    assert not any(("queue", "foreign") in labels for _, labels in samples)


def test_queues_cannot_be_searched_for(home: Server, client: redis.Redis) -> None:
    forbid(client, "-scan")
    series = key("bullmq_queue_jobs", prefix="bull", queue="q", state="active")
    with exporting(
        "--redis.url", f"redis://watcher:secret@{home.address}", "--queues.static", "q",
        "--discovery.interval", "1s", ready=False,
    ) as exporter:  # fmt: skip
        wait_until(lambda: bool(logged(exporter, "queue discovery failed")), "discovery to fail")
        samples = scrape(exporter)
        assert failed_collectors(samples) == set()
        assert samples[series] == 1
        assert logged(exporter, "level=warning", "queue discovery failed", "'scan'")
        forbid(client, "+scan")
        wait_until(lambda: exporter.get("/-/ready").status_code == 200, "discovery to succeed", poll=0.2)
