"""Queues come and go in the background, and no scrape waits for the search."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from rig.child import wait_until
from rig.drivers import DEFAULT_DRIVER, driving
from rig.log import logged, up
from rig.plain import drop_queue, waiting, write_queue
from rig.scrape import exporting
from rig.servers import DEFAULT_KIND, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import redis
    from rig.scrape import Exporter
    from rig.servers import Server

INTERVAL = 1.0
GRACE = 1.5
"""On a busy machine, beside the interval."""

EVERY_SECOND = ("--discovery.interval", f"{INTERVAL:g}s")


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
