"""Queues come and go in the background, and no scrape waits for the search."""

from __future__ import annotations

import itertools
import json
import socket
import statistics
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from rig.child import wait_until
from rig.drivers import DEFAULT_DRIVER, driving
from rig.log import logged, up
from rig.plain import drop_queue, waiting, write_queue
from rig.scrape import exporting, key, once, parse
from rig.servers import DEFAULT_KIND, ServerOptions, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import redis
    from rig.scrape import Exporter, Samples
    from rig.servers import Server

INTERVAL = 1.0
GRACE = 1.0
"""On a busy machine, beside the interval."""

EVERY_SECOND = ("--discovery.interval", f"{INTERVAL:g}s")
FOREIGN_KEYS = 200_000
FILL = "for i = 1, ARGV[1] do redis.call('SET', 'session:' .. i .. ':id', 'x') end"

QUEUES = {"bull:mail": 1, "bull:mail-eu": 2, "bull:sms": 3, "a:b:mail": 4, "{bull}:mail": 5, "bull:naïve queue": 6}
CHOICES: dict[str, tuple[dict[str, object], set[str]]] = {
    "all": ({}, set(QUEUES)),
    "include-names": ({"queues": {"include": ["mail*"]}}, {"bull:mail", "bull:mail-eu", "a:b:mail", "{bull}:mail"}),
    "include-with-prefix": ({"queues": {"include": ["bull:*"]}}, {name for name in QUEUES if name.startswith("bull:")}),
    "exclude": ({"queues": {"exclude": ["mail", "s?s"]}}, {"bull:mail-eu", "bull:naïve queue"}),
    "include-and-exclude": ({"queues": {"include": ["*mail*"], "exclude": ["*:*:*", "{*", "*-eu"]}}, {"bull:mail"}),
    "prefix": ({"discovery": {"prefix": ["a:b"]}}, {"a:b:mail"}),
    "prefixes": ({"discovery": {"prefix": ["{bull}", "a:b"]}}, {"{bull}:mail", "a:b:mail"}),
    "half-a-prefix": ({"discovery": {"prefix": ["bul"]}}, set()),
    "static-only": (
        {"discovery": {"enabled": False}, "queues": {"static": ["sms", "a:b:mail", "bull:ghost"]}},
        {"bull:sms", "a:b:mail", "bull:ghost"},
    ),
    "static-too": (
        {"queues": {"static": ["ghost", "{bull}:mail"], "include": ["sms"]}},
        {"bull:ghost", "{bull}:mail", "bull:sms"},
    ),
}


def write_name(client: redis.Redis, name: str, jobs: int) -> None:
    prefix, _, queue = name.rpartition(":")
    write_queue(client, queue, prefix=prefix, waiting=jobs)


def seconds_until(exporter: Exporter, queues: set[str]) -> float:
    """How long it takes until exactly these queues are shown."""
    began = time.monotonic()
    wait_until(lambda: set(waiting(exporter.samples())) == queues, f"{queues} to be shown", timeout=10)
    return time.monotonic() - began


@pytest.fixture(scope="module")
def watcher(servers: Callable[[str], Server]) -> Iterator[Exporter]:
    """An exporter on the server of all tests, which searches it every second."""
    with exporting("--redis.url", servers(DEFAULT_KIND).url, *EVERY_SECOND) as exporter:
        yield exporter


def test_a_new_queue_is_seen_and_a_deleted_one_dropped(watcher: Exporter, redis_client: redis.Redis) -> None:
    seconds_until(watcher, set())
    write_queue(redis_client, "mail", waiting=2)
    assert seconds_until(watcher, {"bull:mail"}) < INTERVAL + GRACE
    write_queue(redis_client, "sms", prefix="a:b")
    assert seconds_until(watcher, {"bull:mail", "a:b:sms"}) < INTERVAL + GRACE

    drop_queue(redis_client, "mail")
    assert seconds_until(watcher, {"a:b:sms"}) < INTERVAL + GRACE
    redis_client.flushall()
    assert seconds_until(watcher, set()) < INTERVAL + GRACE
    assert up(watcher.samples()) == 1
    assert [len(logged(watcher, "a queue is gone", name)) for name in ("bull:mail", "a:b:sms")] == [1, 1]


def test_an_obliterated_queue_is_dropped(watcher: Exporter, server: Server, redis_client: redis.Redis) -> None:
    with driving(DEFAULT_DRIVER, server) as driver:
        for queue in ("gone", "stays"):
            driver.call("add", queue=queue, name="job")
        seconds_until(watcher, {"bull:gone", "bull:stays"})
        driver.call("obliterate", queue="gone", force=True)
        seconds_until(watcher, {"bull:stays"})

    redis_client.flushall()
    seconds_until(watcher, set())


def test_scrapes_at_once_share_one_look(watcher: Exporter, server: Server, redis_client: redis.Redis) -> None:
    write_queue(redis_client, "mail")
    seconds_until(watcher, {"bull:mail"})
    redis_client.config_resetstat()
    address = urlsplit(watcher.url)
    server.freeze()
    try:
        scrapes = [socket.create_connection((str(address.hostname), address.port or 0), timeout=10) for _ in range(5)]
        for scrape in scrapes:
            scrape.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        for _ in range(3):  # answered after what came before them
            watcher.get("/-/healthy").raise_for_status()
    finally:
        server.thaw()
    answers = [_all(scrape) for scrape in scrapes]

    assert [b'bullmq_queue_jobs{prefix="bull",queue="mail",state="waiting"} 1' in answer for answer in answers] == [
        True
    ] * 5
    calls = redis_client.info("commandstats")
    assert calls["cmdstat_time"]["calls"] == 1
    assert calls["cmdstat_xinfo|stream"]["calls"] == 1
    redis_client.flushall()


def _all(scrape: socket.socket) -> bytes:
    with scrape:
        return b"".join(iter(lambda: scrape.recv(1 << 16), b""))


@pytest.fixture(scope="module")
def chooser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exporter]:
    """An exporter with a target for each choice of queues, and one whose user may not search."""
    with running(options=ServerOptions(users=("blind on >look ~* +@all -scan",))) as server:
        with server.client() as client:
            for name, jobs in QUEUES.items():
                write_name(client, name, jobs)
        targets: dict[str, object] = {
            alias: {"redis": {"url": server.url}, **settings} for alias, (settings, _) in CHOICES.items()
        }
        targets["blind"] = {"redis": {"url": f"redis://blind:look@{server.address}"}, "queues": {"static": ["sms"]}}
        settings = tmp_path_factory.mktemp("discovery") / "settings.yml"
        settings.write_text(json.dumps({"targets": targets, "discovery": {"interval": "500ms"}}), encoding="utf-8")
        with exporting("--config.file", str(settings), ready=False) as exporter:
            yield exporter


@pytest.mark.parametrize("alias", CHOICES)
def test_which_queues_are_watched(chooser: Exporter, alias: str) -> None:
    _, expected = CHOICES[alias]
    first_pass = key("bullmq_discovery_duration_seconds")

    def searched() -> bool:
        samples = chooser.samples(f"/scrape?target={alias}")
        return first_pass in samples or alias == "static-only"

    wait_until(searched, "the first search to be complete")
    samples = chooser.samples(f"/scrape?target={alias}")
    assert waiting(samples) == {name: QUEUES.get(name, 0) for name in expected}
    assert samples[key("bullmq_queues")] == len(expected)


def test_a_static_queue_that_does_not_exist_is_all_zeros(chooser: Exporter) -> None:
    samples = chooser.samples("/scrape?target=static-only")
    ghost = {("prefix", "bull"), ("queue", "ghost")}
    jobs = [value for (name, labels), value in samples.items() if name == "bullmq_queue_jobs" and ghost < labels]

    assert jobs == [0] * 8


def test_a_user_who_may_not_search_is_told_so_once(chooser: Exporter) -> None:
    lines = lambda: logged(chooser, "queue discovery failed", "target=blind")  # noqa: E731 - one expression
    wait_until(lambda: bool(lines()), "the refusal to be logged")
    samples = chooser.samples("/scrape?target=blind")

    assert (up(samples), waiting(samples)) == (1, {"bull:sms": 3})
    (line,) = lines()
    assert "level=warning" in line
    assert "scan" in line


def test_what_is_no_bullmq_queue_is_not_shown(server: Server, redis_client: redis.Redis) -> None:
    write_queue(redis_client, "mail")
    write_bull_4(redis_client, "old")
    write_relay(redis_client)
    for stray in ("id", ":id", "bull:id", "bull::id", "user:1:meta", "shop:cart:id", "x:meta"):
        redis_client.set(stray, "1")
    redis_client.hset("site:page:meta", mapping={"title": "x"})

    done = once(server.url, "--queues.static", "mail")
    assert waiting(parse(done.text)) == {"bull:mail": 1}
    assert done.errors == ""


def write_bull_4(client: redis.Redis, queue: str) -> None:
    """A queue of the older library, paused and with a delayed job and a repeatable one."""
    base = f"bull:{queue}:"
    client.set(f"{base}id", 3)
    client.lpush(f"{base}wait", 1, 2)
    client.zadd(f"{base}priority", {"1": 1})
    client.zadd(f"{base}delayed", {"3": 1796035293012 * 4096})
    client.zadd(f"{base}repeat", {"name:::1000": 1796035293012})
    client.set(f"{base}meta-paused", 1)
    client.hset(f"{base}meta", mapping={"paused": "1"})
    for job in (1, 2, 3):
        client.hset(f"{base}{job}", mapping={"name": "__default__", "data": "{}", "opts": "{}", "timestamp": "1"})


def write_relay(client: redis.Redis) -> None:
    """Keys of the relay feature, whose queue segment is empty."""
    client.sadd("bull::relay:namespaces", "chat")
    client.hset("bull::relay:chat:layout", mapping={"version": "1"})
    client.set("bull::relay:chat:mid", 7)
    client.rpush("bull::relay:chat:7:inbox", "x")
    client.set("bull::relay:chat:id", 7)
    client.hset("bull::relay:chat:meta", mapping={"opts.maxLenEvents": "10000"})


def test_redis_that_is_down_at_the_start_and_restarts_empty() -> None:
    with running() as server:
        server.kill()
        with exporting("--redis.url", server.url, *EVERY_SECOND, ready=False) as exporter:
            assert up(exporter.samples()) == 0
            assert exporter.get("/-/ready").status_code == 503
            server.start()
            with server.client() as client:
                write_queue(client, "first")
            assert seconds_until(exporter, {"bull:first"}) < INTERVAL + GRACE
            wait_until(lambda: exporter.get("/-/ready").status_code == 200, "readiness")

            server.kill()
            server.start()
            assert seconds_until(exporter, set()) < INTERVAL + GRACE
            with server.client() as client:
                write_queue(client, "second")
            assert seconds_until(exporter, {"bull:second"}) < INTERVAL + GRACE


def test_a_search_that_hung_does_not_end_all_search() -> None:
    with running() as server, server.client() as client:
        client.config_resetstat()
        with exporting("--redis.url", server.url, "--discovery.interval", "100ms", "--log.level", "debug") as exporter:
            server.freeze()
            try:
                wait_until(lambda: bool(logged(exporter, "queue discovery failed", "SCAN")), "the search to give up")
            finally:
                server.thaw()
            write_queue(client, "mail")
            seconds_until(exporter, {"bull:mail"})


@pytest.fixture(scope="module")
def crowded() -> Iterator[Server]:
    """A server with many keys of others, whose names look like anchors, and one queue."""
    with running() as server, server.client(socket_timeout=30) as client:
        client.eval(FILL, 0, FOREIGN_KEYS)
        write_queue(client, "mail")
        yield server


def test_a_large_database_delays_no_scrape(crowded: Server) -> None:
    with (
        exporting(
            "--redis.url", crowded.url, "--discovery.interval", "100ms", "--discovery.prefix", "bull"
        ) as exporter,
        crowded.client() as client,
    ):
        client.config_resetstat()
        began = time.monotonic()
        seen = list(itertools.islice(_scrapes(exporter), 40))
        elapsed = time.monotonic() - began
        scan = client.info("commandstats")["cmdstat_scan"]

    search = max(samples[key("bullmq_discovery_duration_seconds")] for samples in seen)
    durations = [samples[key("bullmq_scrape_duration_seconds")] for samples in seen]
    assert scan["calls"] > 40, "no search ran meanwhile: nothing was compared"
    assert {tuple(waiting(samples).items()) for samples in seen} == {(("bull:mail", 1.0),)}
    assert statistics.median(durations) < search / 10
    assert scan["usec"] / 1e6 < 0.25 * elapsed, "a search takes a fifth of Redis's time, and no more"


def _scrapes(exporter: Exporter) -> Iterator[Samples]:
    while True:
        yield exporter.samples()


@pytest.mark.parametrize(("count", "calls"), [("1000", FOREIGN_KEYS / 1000), ("20000", FOREIGN_KEYS / 20_000)])
def test_keys_per_call_and_an_immediate_first_pass(crowded: Server, count: str, calls: float) -> None:
    with crowded.client() as client:
        client.config_resetstat()
        flags = ("--discovery.interval", "1h", "--discovery.scan-count", count, "--discovery.prefix", "bull")
        with exporting("--redis.url", crowded.url, *flags) as exporter:
            assert waiting(exporter.samples()) == {"bull:mail": 1}
        made = client.info("commandstats")["cmdstat_scan"]["calls"]

    assert 0.8 * calls <= made <= 1.4 * calls
