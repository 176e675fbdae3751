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


def ready_jobs(queue: QueueSnapshot) -> int | None:
    """Jobs that a worker could take now; 0 while the queue is paused, None when unknown."""
    waiting, prioritized = queue.jobs.get(State.WAITING), queue.jobs.get(State.PRIORITIZED)
    if waiting is None or prioritized is None or queue.paused is None:
        return None
    return 0 if queue.paused else waiting + prioritized


def reasons(queue: QueueSnapshot, now_ms: int) -> dict[Reason, bool]:
    """Each reason, and whether it holds."""
    ready = _has_ready_work(queue, now_ms)
    found: dict[Reason, bool] = {}
    for reason, in_the_way in _obstacles(queue).items():
        if ready is not None:
            found[reason] = ready and in_the_way
        elif not in_the_way:
            found[reason] = False
    overdue = _scheduler_overdue(queue, now_ms)
    if overdue is not None:
        found[Reason.SCHEDULER_OVERDUE] = overdue
    if queue.unlocked is not None:
        found[Reason.STALLED] = queue.unlocked > 0
    return found


def lateness(queue: QueueSnapshot, now_ms: int) -> tuple[bool, bool | None]:
    """All that the clock has to say to `reasons`: whether a delayed job is overdue, and whether a scheduler is."""
    return (queue.overdue_ms(now_ms) or 0) > 0, _scheduler_overdue(queue, now_ms)


def _scheduler_overdue(queue: QueueSnapshot, now_ms: int) -> bool | None:
    """Whether a run is overdue; of a scheduler that may have come to its end, only if a delayed job is overdue too."""
    if queue.scheduler_count is None:
        return None
    overdue = [scheduler for scheduler in queue.schedulers if now_ms - scheduler.next_ms > OVERDUE_AFTER_MS]
    if any(scheduler.certain for scheduler in overdue):
        return True
    if not overdue:  # those that are not looked at run later than the ones that are; but these may all have ended
        return None if queue.schedulers_hidden and not queue.schedulers else False
    return True if (queue.overdue_ms(now_ms) or 0) > OVERDUE_AFTER_MS else None


def _obstacles(queue: QueueSnapshot) -> dict[Reason, bool]:
    """What would hold ready work back, whether or not there is any."""
    found: dict[Reason, bool] = {}
    if queue.paused is not None:
        found[Reason.PAUSED] = queue.paused
    if queue.rate_limited_ms is not None:
        found[Reason.RATE_LIMITED] = queue.rate_limited_ms > 0
    if queue.workers is not None:
        found[Reason.NO_WORKERS] = queue.workers.count == 0
    if State.ACTIVE in queue.jobs:
        limit = queue.concurrency_limit
        found[Reason.CONCURRENCY_REACHED] = limit is not None and queue.jobs[State.ACTIVE] >= limit
    return found


def _has_ready_work(queue: QueueSnapshot, now_ms: int) -> bool | None:
    """Whether a worker could take a job now; None when the states that could be read hold none."""
    counts = [queue.jobs.get(state) for state in (State.WAITING, State.PAUSED, State.PRIORITIZED)]
    overdue_ms = queue.overdue_ms(now_ms)
    if any(counts) or (overdue_ms or 0) > 0:
        return True
    return None if None in counts or overdue_ms is None else False
