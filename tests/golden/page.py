"""A fixed look at one Redis: a queue that is known in full, an idle one, one that could not be read; and its tally."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from qobserve.config import MetricsSettings, Slo
from qobserve.metrics.collection import Collection
from qobserve.metrics.exposition import OPENMETRICS, TEXT, render
from qobserve.metrics.tally import Tally
from qobserve.model.job import ReadyAt
from qobserve.model.keys import QueueId
from qobserve.model.run import Card, Counted, Outcome, Run, Started
from qobserve.model.snapshot import (
    Groups,
    Problem,
    QueueSnapshot,
    RedisFacts,
    Scheduler,
    ServerSnapshot,
    Snapshot,
    Workers,
)
from qobserve.model.states import State

if TYPE_CHECKING:
    from qobserve.metrics.family import Samples

FILES = {
    Path(__file__).with_name("scrape.txt"): TEXT,
    Path(__file__).with_name("scrape.openmetrics.txt"): OPENMETRICS,
}
NOW_MS = 1796035293012

FULL = QueueSnapshot(
    queue=QueueId(b"a:b", b'mail "\\\n\xe6\x97\xa5\xff'),
    jobs={
        State.WAITING: 7,
        State.PAUSED: 3,
        State.PRIORITIZED: 2,
        State.DELAYED: 1,
        State.WAITING_CHILDREN: 4,
        State.ACTIVE: 5,
        State.COMPLETED: 1000,
        State.FAILED: 12_345_678,
    },
    paused=True,
    waiting_since=ReadyAt(ms=NOW_MS - 90_500, source="event", exact=True),
    prioritized_since=ReadyAt(ms=NOW_MS - 60_000, source="hash", exact=False),
    active_since_ms=NOW_MS - 2_250,
    waiting_children_since_ms=NOW_MS - 3_600_000,
    failed_since_ms=NOW_MS - 86_400_000,
    due_ms=NOW_MS - 1_500,
    last_completed_ms=NOW_MS - 10,
    last_failed_ms=NOW_MS - 20,
    workers=Workers(count=6, evidence="connections"),
    unlocked=1,
    concurrency_limit=5,
    rate_limited_ms=2_500,
    scheduler_count=3,
    schedulers_hidden=1,
    schedulers=(Scheduler(id="nightly", next_ms=NOW_MS - 6_000), Scheduler(id='every "5"', next_ms=NOW_MS + 60_000)),
    add_attempts=13,
    events_added=32_001,
    events_retained=10_019,
    events_limit=10_000,
    last_event_ms=NOW_MS - 5,
    completed=999_999,
    failed=1_000_000,
    data_bytes=10_485_760,
    library="bullmq-pro",
    version="7.48.0",
    layout="5+",
    groups=Groups(free=1, limited=2, maxed=3, paused=4),
)
"""Everything is known, and no two values are the same by chance."""

EMPTY = QueueSnapshot(
    queue=QueueId(b"bull", b"idle"),
    jobs=dict.fromkeys(State, 0),
    paused=False,
    workers=Workers(count=0, evidence="connections"),
    unlocked=0,
    rate_limited_ms=0,
    scheduler_count=0,
    add_attempts=0,
    events_added=0,
    events_retained=0,
    events_limit=10_000,
    version="6.7.0",
    layout="6",
)
"""A queue that was made and never used."""

UNREAD = QueueSnapshot(
    queue=QueueId(b"bull", b"unread"),
    jobs={},
    library="bullmq",
    problems=(Problem(part="depth", queue=QueueId(b"bull", b"unread"), what="LLEN unread:wait: WRONGTYPE ..."),),
)
"""Nothing could be read of it: whatever a collector says about it would be made up."""

SERVER = RedisFacts(
    server="valkey",
    version="9.1.2",
    mode="standalone",
    role="master",
    eviction_policy="noeviction",
    aof_enabled=False,
    evicted_keys=0,
    memory_used=768,
    memory_limit=1024,
    connected_clients=9,
)

SNAPSHOT = Snapshot(
    servers=(ServerSnapshot(now_ms=NOW_MS, queues=(FULL, EMPTY, UNREAD), facts=SERVER),),
    duration_seconds=0.015625,
    discovery_seconds=0.25,
)

_SLO = {FULL.queue: Slo(wait=30.0, objective=0.999), EMPTY.queue: Slo(wait=0.5)}


BEFORE = Snapshot(
    servers=(
        ServerSnapshot(
            now_ms=NOW_MS - 60_000, queues=(replace(FULL, jobs={**FULL.jobs, State.WAITING: 37}), EMPTY), facts=SERVER
        ),
    )
)
"""A minute earlier the backlog was larger."""

COUNTS = {
    "added": 1_000_021,
    "completed": 120,
    "failed": 3,
    "retried": 14,
    "stalled": 2,
    "delayed": 15,
    "deduplicated": 6,
    "removed": 7,
    "retries-exhausted": 1,
    "attempts_failed": 17,
}
TRACED = Card(traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
UNTRACED = Card(traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")


def tally() -> Tally:
    """What was counted of the queue that is known in full; nothing yet of the idle one; the third is not followed."""
    counted, queue = Tally(MetricsSettings()), FULL.queue
    counted.known(queue)
    counted.known(EMPTY.queue)
    for kind, count in COUNTS.items():
        counted.take(Counted(queue=queue, kind=kind, count=count))
    for number, (waited, ran, card) in enumerate(
        [(10, 20, None), (11, 1_000, TRACED), (400, 1, UNTRACED), (90_000_000, 250, TRACED)]
    ):
        started = NOW_MS - 10_000 + number
        begun = {"queue": queue, "job": str(number), "live": True, "card": card, "started_ms": started}
        counted.take(Started(**begun, ready_ms=started - waited))
        counted.take(Run(**begun, outcome=Outcome.COMPLETED, ended_ms=started + ran))
    counted.missed(queue, 1_234)
    counted.partial(queue, "removed")
    counted.lag(queue, 0.25)
    counted.lag(EMPTY.queue, 0.0)
    return counted


def looked_twice(**options: object) -> list[Samples]:
    """The second look at this Redis: at the first one counters are shown at 0."""
    given: dict[str, object] = {"enabled": {}, "slo": _SLO.get, "tally": tally(), **options}
    collection = Collection(**given)  # type: ignore[arg-type]  # by name, with defaults for most
    collection.collect(BEFORE)
    return collection.collect(SNAPSHOT)


def text(content_type: str) -> bytes:
    """The page as it is printed now."""
    return render(looked_twice(), content_type)
