"""How many jobs are where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector
from qobserve.metrics.family import OF_QUEUE, Family, label
from qobserve.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Samples

JOBS = Family(
    "bullmq_queue_jobs",
    "gauge",
    "Jobs by state, in BullMQ's words and as its key layout holds them: up to BullMQ 5 the waiting jobs of a paused "
    "queue are in state paused, from 6 on they stay in waiting.",
    (*OF_QUEUE, "state"),
)
GROUPS = Family(
    "bullmq_queue_groups",
    "gauge",
    "Groups of BullMQ Pro that have jobs waiting: free to run, rate-limited, at their concurrency (maxed), or paused.",
    (*OF_QUEUE, "status"),
)

_OF_STATE = {state: "," + label("state", state) for state in State}


def _collect(facts: Facts) -> Iterator[Samples]:
    yield JOBS.samples(
        (queue + _OF_STATE[state], count) for queue, seen, _ in facts.queues for state, count in seen.jobs.items()
    )
    yield GROUPS.samples(
        (f"{queue},{label('status', status)}", getattr(seen.groups, status))
        for queue, seen, _ in facts.queues
        if seen.groups is not None
        for status in ("free", "limited", "maxed", "paused")
    )


COLLECTOR = Collector("depth", (JOBS, GROUPS), _collect)
