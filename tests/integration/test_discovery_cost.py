"""The search for queues in a large database: what it costs Redis, and that no scrape waits for it."""

from __future__ import annotations

import itertools
import statistics
import time
from typing import TYPE_CHECKING

import pytest
from rig.plain import waiting, write_queue
from rig.scrape import exporting, key
from rig.servers import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.scrape import Exporter, Samples
    from rig.servers import Server

FOREIGN_KEYS = 200_000
FILL = "for i = 1, ARGV[1] do redis.call('SET', 'session:' .. i, 'x') end"


@pytest.fixture(scope="module")
def crowded() -> Iterator[Server]:
    """A server with many keys of others, and one queue."""
    with running() as server, server.client(socket_timeout=30) as client:
        client.eval(FILL, 0, FOREIGN_KEYS)
        write_queue(client, "mail")
        yield server


def test_a_large_database_delays_no_scrape(crowded: Server) -> None:
    # So many keys in a call that it is Redis that a search waits for.
    flags = ("--redis.url", crowded.url, "--discovery.interval", "100ms", "--discovery.scan-count", "20000")
    with exporting(*flags) as exporter, crowded.client() as client:
        client.config_resetstat()
        began = time.monotonic()
        seen = list(itertools.islice(_scrapes(exporter), 25))
        elapsed = time.monotonic() - began
        scan = client.info("commandstats")["cmdstat_scan"]

    search = max(samples[key("bullmq_discovery_duration_seconds")] for samples in seen)
    durations = [samples[key("bullmq_scrape_duration_seconds")] for samples in seen]
    assert scan["calls"] >= 2 * FOREIGN_KEYS / 20_000, "no search ran meanwhile: nothing was compared"
    assert {tuple(waiting(samples).items()) for samples in seen} == {(("bull:mail", 1.0),)}
    assert statistics.median(durations) < search / 4
    assert scan["usec"] / 1e6 < 0.25 * elapsed, "a search takes a fifth of Redis's time, and no more"


def _scrapes(exporter: Exporter) -> Iterator[Samples]:
    while True:
        yield exporter.samples()


@pytest.mark.parametrize(("count", "calls"), [("1000", FOREIGN_KEYS / 1000), ("20000", FOREIGN_KEYS / 20_000)])
def test_keys_per_call_and_an_immediate_first_pass(crowded: Server, count: str, calls: float) -> None:
    with crowded.client() as client:
        client.config_resetstat()
        flags = ("--discovery.interval", "1h", "--discovery.scan-count", count)
        with exporting("--redis.url", crowded.url, *flags) as exporter:
            assert waiting(exporter.samples()) == {"bull:mail": 1}
        made = client.info("commandstats")["cmdstat_scan"]["calls"]

    assert 0.8 * calls <= made <= 1.4 * calls
