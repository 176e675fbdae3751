"""The exporter's counters and histograms against the ledgers of real floods, as fast as BullMQ and this machine go."""

from __future__ import annotations

import contextlib
import signal
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from rig.child import RigTimeoutError, wait_until
from rig.flood import FloodOptions, flooding
from rig.scrape import exporting, key
from rig.servers import DEFAULT_KIND, ServerOptions, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rig.flood import Flood
    from rig.ledger import QueueLedger
    from rig.scrape import Exporter, Samples
    from rig.servers import Server

VERSIONS = ("node-6.7.0", "node-5.81.5", "node-4.18.3", "python-3.4.4")
COUNTERS = {
    "jobs_added": "added",
    "jobs_completed": "completed",
    "jobs_failed": "failed",
    "jobs_retried": "retried",
    "jobs_stalled": "stalled",
    "job_attempts_failed": "attempts_failed",
    "jobs_retries_exhausted": "failed",
}
"""By counter, what the ledger calls it; a flood's jobs fail for good only when no attempt is left."""

NONE = dict.fromkeys([*COUNTERS, "events_missed"], 0)
# What Redis keeps a total of, so that a gap does no harm.
KEPT = ("jobs_added", "jobs_completed", "jobs_failed")
FREEZE_SECONDS = 5.0
MIDST = 1_000
# What would be counted too much comes with the answers about hashes, which take a tenth of a second or so.
AFTER_SECONDS = 0.5
# Several times as many as the follower needs for all that a stream retains, and polls every 0.05 s then.
ENOUGH_READS = 30
UNHURRIED = FloodOptions(jobs=600, workers=1, concurrency=2, sleep_ms=20)


class Site(NamedTuple):
    """A server, and an exporter that finds its new queues within half a second."""

    server: Server
    exporter: Exporter


@pytest.fixture
def exporter(server: Server) -> Iterator[Exporter]:
    """An exporter of a server that has no queue yet."""
    with _exporting(server) as running:
        yield running


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """One for all tests that have queues of their own."""
    with running(DEFAULT_KIND, ServerOptions()) as server, _exporting(server) as exporter:
        yield Site(server, exporter)


def _exporting(server: Server) -> contextlib.AbstractContextManager[Exporter]:
    return exporting("--redis.url", server.url, "--discovery.interval", "500ms")


def shown(samples: Samples, queue: str) -> dict[str, float]:
    """The counters of a queue."""
    labels = {"prefix": "bull", "queue": queue}
    return {name: samples[key(f"bullmq_{name}_total", **labels)] for name in NONE if _known(samples, queue)}


def told(page: QueueLedger) -> dict[str, float]:
    """What the counters should be if nothing was missed."""
    return {**{name: getattr(page, theirs) for name, theirs in COUNTERS.items()}, "events_missed": 0}


def histogram(samples: Samples, duration: str, queue: str) -> tuple[float, float]:
    """Count and sum, in seconds."""
    count, total = (
        samples[key(f"bullmq_job_{duration}_duration_seconds_{part}", prefix="bull", queue=queue)]
        for part in ("count", "sum")
    )
    return count, total


def partial(samples: Samples, queue: str) -> set[str]:
    """The counters of a queue that are said to be too low."""
    found = (dict(labels) for (name, labels), value in samples.items() if name == "bullmq_queue_counters_partial")
    return {labels["counter"] for labels in found if labels["queue"] == queue}


def trimmed(server: Server, queue: str) -> int:
    """How many events of a queue are there no more."""
    with server.client() as client:
        stream = client.xinfo_stream(f"bull:{queue}:events")
    return int(stream["entries-added"] - stream["length"])


def begin(exporter: Exporter, flood: Flood, queues: Sequence[str]) -> None:
    """Let a flood loose once its queues are known."""
    wait_until(lambda: all(_known(exporter.samples(), queue) for queue in queues), "the queues to be known")
    samples = exporter.samples()
    assert [shown(samples, queue) for queue in queues] == [NONE for _ in queues]
    flood.go()


def settled(exporter: Exporter, expected: dict[str, dict[str, float]]) -> Samples:
    """The samples as soon as these are the counters, by queue; they must remain so."""

    def right() -> bool:
        nonlocal samples
        samples = exporter.samples()
        return all(counters.items() <= shown(samples, queue).items() for queue, counters in expected.items())

    samples: Samples = {}
    with contextlib.suppress(RigTimeoutError):
        wait_until(right, "the counters", timeout=8, poll=0.1)
    time.sleep(AFTER_SECONDS)
    samples = exporter.samples()
    assert {queue: {name: shown(samples, queue)[name] for name in expected[queue]} for queue in expected} == expected
    return samples


def _known(samples: Samples, queue: str) -> bool:
    return key("bullmq_jobs_added_total", prefix="bull", queue=queue) in samples


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("node-6.7.0", FloodOptions()),
        ("node-5.81.5", FloodOptions(jobs=3_000)),
        ("node-4.18.3", FloodOptions(jobs=3_000)),
        ("python-3.4.4", FloodOptions(jobs=1_600)),
        ("python-3.4.4", UNHURRIED),
    ],
)
def test_counters_and_histograms_are_those_of_the_ledger(site: Site, version: str, options: FloodOptions) -> None:
    queues = tuple(f"{version}-{options.sleep_ms}-{number}" for number in range(4))
    with flooding(version, site.server, replace(options, queues=queues)) as flood:
        begin(site.exporter, flood, queues)
        ledger = flood.ledger()
    assert ledger.errors == ()
    samples = settled(site.exporter, {name: told(page) for name, page in ledger.queues.items()})
    for name, page in ledger.queues.items():
        waits, wait = histogram(samples, "wait", name)
        runs, processing = histogram(samples, "processing", name)
        assert (waits, runs) == (page.runs, page.runs)
        assert partial(samples, name) == set()
        # In Python a saturated loop sees ends late, and a job bears the moment before its bulk is sent, 0.1 s earlier.
        if version.startswith("node") or options is UNHURRIED:
            assert processing == pytest.approx(page.processing_ms / 1000, rel=0.05)
        if options is not UNHURRIED:
            assert wait == pytest.approx(page.wait_ms / 1000, rel=0.05)


def test_stalled_runs_are_counted_as_such_and_not_as_failed(site: Site) -> None:
    floods: list[tuple[FloodOptions, Flood]] = []
    with contextlib.ExitStack() as stack:
        for version in VERSIONS:
            queues = (f"{version}-hung-1", f"{version}-hung-2")
            options = FloodOptions(jobs=400, queues=queues, concurrency=5, stall_every=50)
            floods.append((options, stack.enter_context(flooding(version, site.server, options))))
        for options, flood in floods:
            begin(site.exporter, flood, options.queues)
        ledgers = [flood.ledger() for _, flood in floods]
    assert [ledger.errors for ledger in ledgers] == [() for _ in VERSIONS]
    pages = {name: page for ledger in ledgers for name, page in ledger.queues.items()}
    assert {page.stalled for page in pages.values()} == {4}
    samples = settled(site.exporter, {name: told(page) for name, page in pages.items()})
    for name, page in pages.items():
        runs, processing = histogram(samples, "processing", name)
        assert runs == page.runs
        assert processing == pytest.approx(page.processing_ms / 1000, rel=0.05)


def test_what_the_first_moments_of_an_unknown_queue_lose_is_counted(server: Server, exporter: Exporter) -> None:
    options = FloodOptions(jobs=3_500, queues=("young",), metrics=True)
    exporter.child.signal(signal.SIGSTOP)  # between two searches, so to speak, but for as long as it takes
    first = _flooded(server, options)
    lost = trimmed(server, "young")
    assert lost > 0
    reads = _reads(server)
    exporter.child.signal(signal.SIGCONT)
    wait_until(lambda: _reads(server) > reads + ENOUGH_READS, "the queue to be found and read")
    assert shown(exporter.samples(), "young") == NONE, "a counter is 0 when it is first shown"
    kept = {name: count for name, count in told(first).items() if name in KEPT}
    before = shown(settled(exporter, {"young": {**kept, "events_missed": lost}}), "young")
    second = told(_flooded(server, options))
    settled(exporter, {"young": {name: count + second[name] for name, count in before.items()}})


def _reads(server: Server) -> int:
    """How often anybody has read streams."""
    with server.client() as client:
        return int(client.info("commandstats").get("cmdstat_xread", {"calls": 0})["calls"])


def _flooded(server: Server, options: FloodOptions) -> QueueLedger:
    """A whole flood over one queue."""
    with flooding("node-6.7.0", server, options) as flood:
        flood.go()
        (page,) = flood.ledger().queues.values()
        return page


@pytest.mark.parametrize("metrics", [True, False])
def test_a_frozen_exporter_counts_what_it_missed(
    site: Site,
    metrics: bool,  # noqa: FBT001 - pytest gives it by name
) -> None:
    queue = f"frozen-{metrics}"
    options = FloodOptions(jobs=12_000, queues=(queue,), metrics=metrics)
    with flooding("node-6.7.0", site.server, options) as flood:
        begin(site.exporter, flood, options.queues)
        wait_until(lambda: shown(site.exporter.samples(), queue)["jobs_completed"] > MIDST, "some jobs to be counted")
        site.exporter.child.signal(signal.SIGSTOP)
        time.sleep(FREEZE_SECONDS)
        site.exporter.child.signal(signal.SIGCONT)
        right = told(flood.ledger().queues[queue])
    kept = KEPT if metrics else KEPT[:1]
    samples = settled(site.exporter, {queue: {counter: right[counter] for counter in kept}})
    counters = shown(samples, queue)
    low = {counter for counter in COUNTERS if counters[counter] < right[counter]}
    said = {counter for counter in COUNTERS if counter.split("_", 1)[1] in partial(samples, queue)}
    assert 0 < counters["events_missed"] <= trimmed(site.server, queue)
    assert all(counters[counter] <= right[counter] for counter in COUNTERS)
    assert low <= said == COUNTERS.keys() - set(kept)
    assert ("jobs_completed" in low) is not metrics
