"""An OTLP endpoint in trouble costs the spans only: metrics come as fast as ever, memory is flat, one line says so."""

from __future__ import annotations

import contextlib
import statistics
import time
from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.following import write_jobs
from rig.otlp import Behaviour, receiving
from rig.scrape import exporting, key
from rig.servers import free_port, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.otlp import OtlpReceiver
    from rig.scrape import Exporter, Samples
    from rig.servers import Server

BATCH, ROUNDS = 2_000, 5
HELD = 1_000
DOWN = "down"
MIB = 2**20
# What a scrape may take beyond one beside an endpoint that is well: less than the time limit of an export, 1 s here.
SLOWER_SECONDS = 0.25
TROUBLE = [
    DOWN,
    Behaviour.SLOW,
    pytest.param(Behaviour.HANGS, marks=pytest.mark.slow),
    pytest.param(Behaviour.GARBAGE, marks=pytest.mark.slow),
]


@contextlib.contextmanager
def endpoint(trouble: str) -> Iterator[tuple[str, OtlpReceiver | None]]:
    if trouble == DOWN:
        yield f"http://127.0.0.1:{free_port()}", None
        return
    with receiving() as receiver:
        receiver.manners.behaviour = Behaviour(trouble)
        receiver.manners.delay = 0.9
        yield receiver.http_endpoint, receiver


def scrape(exporter: Exporter) -> tuple[float, Samples]:
    began = time.monotonic()
    samples = exporter.samples()
    return time.monotonic() - began, samples


def flood(client: redis.Redis, exporter: Exporter, first: int) -> tuple[list[float], list[float]]:
    """Seconds of each scrape, and bytes of memory at it, while jobs go through as fast as they are written."""
    seconds, memory = [], []
    for number in range(ROUNDS):
        write_jobs(client, "mail", BATCH, first=first + number * BATCH)
        for _ in range(3):
            took, samples = scrape(exporter)
            seconds.append(took)
            memory.append(samples[key("process_resident_memory_bytes")])
    jobs = first + ROUNDS * BATCH - 1
    added = key("bullmq_jobs_added_total", prefix="bull", queue="mail")
    wait_until(lambda: exporter.samples()[added] == jobs, "all to be counted", timeout=60, poll=0.2)
    return seconds, memory


@contextlib.contextmanager
def tracing(server: Server, url: str) -> Iterator[Exporter]:
    words = ("--tracing.otlp-endpoint", url, "--tracing.otlp-timeout", "1s", "--tracing.queue-size", str(HELD))
    with exporting("--redis.url", server.url, "--queues.static", "mail", *words) as exporter:
        yield exporter


@pytest.fixture(scope="module")
def usual() -> list[float]:
    """The seconds of scrapes beside an endpoint that is well."""
    with (
        running() as server,
        server.client() as client,
        receiving() as receiver,
        tracing(server, receiver.http_endpoint) as exporter,
    ):
        return flood(client, exporter, 1)[0]


@pytest.mark.parametrize("trouble", TROUBLE)
def test_trouble_stays_where_it_is(server: Server, redis_client: redis.Redis, trouble: str, usual: list[float]) -> None:
    with contextlib.ExitStack() as stage:
        url, receiver = stage.enter_context(endpoint(trouble))
        exporter = stage.enter_context(tracing(server, url))
        seconds, memory = flood(redis_client, exporter, 1)
        more_seconds, more_memory = flood(redis_client, exporter, 1 + ROUNDS * BATCH)
        samples = exporter.samples()
        log = exporter.child.log()
        if receiver is not None:
            receiver.manners.behaviour = Behaviour.ACCEPTS
            receiver.manners.released.set()
        assert exporter.child.terminate() == 0

    assert statistics.median(seconds + more_seconds) < statistics.median(usual) + SLOWER_SECONDS
    assert max(seconds + more_seconds) < max(usual) + 2 * SLOWER_SECONDS
    assert max(more_memory) - max(memory) < 8 * MIB
    assert samples[key("bullmq_exporter_spans_pending")] <= HELD
    dropped = {
        reason: samples[key("bullmq_exporter_spans_dropped_total", reason=reason)]
        for reason in ("queue_full", "refused", "failed")
    }
    exported = samples[key("bullmq_exporter_spans_exported_total")]
    spans = exported + sum(dropped.values()) + samples[key("bullmq_exporter_spans_pending")]
    assert spans == 2 * 2 * ROUNDS * BATCH  # a wait and a process of each job
    assert dropped["queue_full"] > HELD
    assert (exported > 0) is (trouble == Behaviour.SLOW)
    assert samples[key("bullmq_exporter_spans_up")] == 0
    (line,) = (line for line in log.splitlines() if "level=warning" in line)
    assert 'msg="spans cannot be exported"' in line
