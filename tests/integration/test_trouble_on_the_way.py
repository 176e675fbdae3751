"""Whatever happens between Redis and the exporter, and whatever answers in its place, a scrape is answered in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.log import failed_collectors, logged, scrape, up
from rig.proxy import answering, proxied
from rig.scrape import exporting, key
from rig.servers import running
from rig.specimen import plant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.proxy import Proxy
    from rig.scrape import Exporter

WAITING = key("bullmq_queue_jobs", prefix="bull", queue="q", state="waiting")
HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
CUTS = 25


@pytest.fixture(scope="module")
def proxy() -> Iterator[Proxy]:
    with running() as server, server.client() as client, proxied(server.port) as way:
        plant(client, "q")
        yield way


@pytest.fixture
def exporter(proxy: Proxy) -> Iterator[Exporter]:
    with exporting("--redis.url", proxy.url, "--discovery.interval", "1s") as started:
        yield started


def test_replies_trickle(proxy: Proxy, exporter: Exporter) -> None:
    proxy.trickles = True
    assert [up(scrape(exporter)) for _ in range(2)] == [0, 0]
    proxy.trickles = False
    proxy.reset()

    wait_until(lambda: scrape(exporter).get(WAITING) == 2, "the queue to be shown", poll=0.2)
    assert len(logged(exporter, "redis cannot be read", "reason=timeout")) == 1
    assert len(logged(exporter, "redis can be read again")) == 1


def test_replies_are_cut_anywhere(proxy: Proxy, exporter: Exporter) -> None:
    proxy.reset()
    proxy.replied = 0
    assert scrape(exporter)[WAITING] == 2
    length = proxy.replied
    assert length > 1_000

    for cut in sorted({*range(8), *range(8, length, length // CUTS)}):
        proxy.cut_after = cut
        proxy.reset()
        assert up(scrape(exporter)) == 0, cut
    proxy.cut_after = None

    wait_until(lambda: scrape(exporter).get(WAITING) == 2, "the queue to be shown", poll=0.2)
    assert failed_collectors(scrape(exporter)) == set()
    assert len(logged(exporter, "redis cannot be read")) == 1
    assert logged(exporter, "redis cannot be read", "reason=unreachable")
    assert len(logged(exporter, "redis can be read again")) == 1


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(None, "timeout", id="silence"),
        pytest.param(HTTP, "error", id="HTTP"),
        pytest.param(b"\x15\x03\x01\x00\x02\x02\x46", "error", id="TLS"),
        pytest.param(b"$-5\r\n", "error", id="a negative length"),
        pytest.param(b"\x00" * 100, "error", id="zeros"),
        pytest.param(b"", "unreachable", id="nothing"),
        pytest.param(b"+OK\r\n:1\r\n", "unreachable", id="too little"),
        pytest.param(b"+OK\r\n" * 100, "unreachable", id="always OK"),
        pytest.param(b"-ERR what?\r\n" * 100, "unreachable", id="errors, and the end"),
    ],
)
def test_what_answers_is_no_redis(reply: bytes | None, reason: str) -> None:
    with answering(reply) as url, exporting("--redis.url", url, "--queues.static", "q", ready=False) as exporter:
        assert [up(scrape(exporter)) for _ in range(2)] == [0, 0]

        told = logged(exporter, "level=error")
        assert len(told) == 1
        assert f"reason={reason}" in told[0]
