"""A fixed look at one Redis: a queue that is known in full, an idle one, and one that could not be read."""

from __future__ import annotations

from pathlib import Path

from qobserve.config import Slo
from qobserve.metrics.collection import Collection
from qobserve.metrics.exposition import OPENMETRICS, TEXT, render
from qobserve.model.job import ReadyAt
from qobserve.model.keys import QueueId
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


def text(content_type: str) -> bytes:
    """The page as it is printed now."""
    return render(Collection(enabled={}, slo=_SLO.get).collect(SNAPSHOT), content_type)
