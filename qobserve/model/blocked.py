"""Why work that could be done is not: the reasons that a snapshot shows.

A reason that a fact is missing for is left out. The first four need work that is ready: an empty queue is not blocked.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from qobserve.model.states import State

if TYPE_CHECKING:
    from qobserve.model.snapshot import QueueSnapshot

OVERDUE_AFTER_MS = 5000
"""How late a scheduler's next run may be: an idle worker looks again after at most 5 s (BullMQ's drainDelay)."""


class Reason(StrEnum):
    """A reason, in the words of `bullmq_queue_blocked`."""

    PAUSED = "paused"
    RATE_LIMITED = "rate_limited"
    NO_WORKERS = "no_workers"
    CONCURRENCY_REACHED = "concurrency_reached"
    SCHEDULER_OVERDUE = "scheduler_overdue"
    STALLED = "stalled"


def reasons(queue: QueueSnapshot, now_ms: int) -> dict[Reason, bool]:
    """Each reason, and whether it holds."""
    jobs = queue.jobs
    ready = (
        jobs.get(State.WAITING, 0) + jobs.get(State.PAUSED, 0) + jobs.get(State.PRIORITIZED, 0) > 0
        or (queue.overdue_ms(now_ms) or 0) > 0
    )
    found: dict[Reason, bool] = {}
    if queue.paused is not None:
        found[Reason.PAUSED] = ready and queue.paused
    if queue.rate_limited_ms is not None:
        found[Reason.RATE_LIMITED] = ready and queue.rate_limited_ms > 0
    if queue.workers is not None:
        found[Reason.NO_WORKERS] = ready and queue.workers.count == 0
    if State.ACTIVE in jobs:
        limit = queue.concurrency_limit
        found[Reason.CONCURRENCY_REACHED] = ready and limit is not None and jobs[State.ACTIVE] >= limit
    if queue.scheduler_count is not None:
        found[Reason.SCHEDULER_OVERDUE] = any(
            now_ms - scheduler.next_ms > OVERDUE_AFTER_MS for scheduler in queue.schedulers
        )
    if queue.unlocked is not None:
        found[Reason.STALLED] = queue.unlocked > 0
    return found
