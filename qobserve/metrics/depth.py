"""How many jobs are where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector, OfQueue, value
from qobserve.metrics.family import OF_QUEUE, Family, label
from qobserve.model.blocked import ready_jobs
from qobserve.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Seen
    from qobserve.metrics.family import Row

JOBS = Family(
    "bullmq_queue_jobs",
    "gauge",
    "Jobs by state, in BullMQ's words and as its key layout holds them: up to BullMQ 5 the waiting jobs of a paused "
    "queue are in state paused, from 6 on they stay in waiting.",
    (*OF_QUEUE, "state"),
)
READY = Family(
    "bullmq_queue_ready_jobs",
    "gauge",
    "Jobs that a worker could take now: waiting and prioritized; 0 while the queue is paused.",
)
GROUPS = Family(
    "bullmq_queue_groups",
    "gauge",
    "Groups of BullMQ Pro that have jobs waiting: free to run, rate-limited, at their concurrency (maxed), or paused.",
    (*OF_QUEUE, "status"),
)

_OF_STATE = {state: "," + label("state", state) for state in State}
_OF_STATUS = {status: "," + label("status", status) for status in ("free", "limited", "maxed", "paused")}


def _jobs(queue: str, seen: Seen) -> Iterator[Row]:
    for state, count in seen.queue.jobs.items():
        yield queue + _OF_STATE[state], count


def _groups(queue: str, seen: Seen) -> Iterator[Row]:
    if seen.queue.groups is not None:
        for status, suffix in _OF_STATUS.items():
            yield queue + suffix, getattr(seen.queue.groups, status)


COLLECTOR = Collector("depth", (OfQueue(JOBS, _jobs), value(READY, ready_jobs), OfQueue(GROUPS, _groups)))
