"""How old the oldest job of each state is; the definition and its bounds are in docs/age.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector
from qobserve.metrics.family import OF_QUEUE, Family, label
from qobserve.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Row, Samples
    from qobserve.model.snapshot import QueueSnapshot

OLDEST = Family(
    "bullmq_queue_oldest_job_age_seconds",
    "gauge",
    "Age of the oldest job in a state: waiting (also while paused) and prioritized since a worker could first have "
    "taken it, active since it started, waiting-children since its children are awaited, failed since it failed; 0 for "
    "no job, absent when unknown.",
    (*OF_QUEUE, "state"),
)
OVERDUE = Family(
    "bullmq_queue_delayed_overdue_seconds",
    "gauge",
    "For how long the first delayed job has been due without being promoted; 0 when nothing is overdue.",
)
NEXT_DELAYED = Family(
    "bullmq_queue_next_delayed_timestamp_seconds",
    "gauge",
    "When the first delayed job is due, as a Unix timestamp; absent without delayed jobs.",
)


def _collect(facts: Facts) -> Iterator[Samples]:
    yield OLDEST.samples(row for queue, seen, now_ms in facts.queues for row in _ages(queue, seen, now_ms))
    yield OVERDUE.samples(
        (queue, overdue / 1000)
        for queue, seen, now_ms in facts.queues
        if (overdue := seen.overdue_ms(now_ms)) is not None
    )
    yield NEXT_DELAYED.samples(
        (queue, seen.due_ms / 1000) for queue, seen, _ in facts.queues if seen.due_ms is not None
    )


def _of(state: State) -> str:
    return "," + label("state", state)


_WAITING, _PRIORITIZED, _ACTIVE = _of(State.WAITING), _of(State.PRIORITIZED), _of(State.ACTIVE)
_WAITING_CHILDREN, _FAILED = _of(State.WAITING_CHILDREN), _of(State.FAILED)


def _ages(queue: str, seen: QueueSnapshot, now_ms: int) -> Iterator[Row]:
    jobs = seen.jobs
    waiting = None if seen.waiting_since is None else seen.waiting_since.ms
    prioritized = None if seen.prioritized_since is None else seen.prioritized_since.ms
    waiting_jobs = jobs[State.WAITING] + jobs[State.PAUSED] if State.WAITING in jobs and State.PAUSED in jobs else None
    for suffix, count, since_ms in (
        (_WAITING, waiting_jobs, waiting),
        (_PRIORITIZED, jobs.get(State.PRIORITIZED), prioritized),
        (_ACTIVE, jobs.get(State.ACTIVE), seen.active_since_ms),
        (_WAITING_CHILDREN, jobs.get(State.WAITING_CHILDREN), seen.waiting_children_since_ms),
        (_FAILED, jobs.get(State.FAILED), seen.failed_since_ms),
    ):
        if since_ms is not None:
            yield queue + suffix, max(now_ms - since_ms, 0) / 1000
        elif count == 0:
            yield queue + suffix, 0


COLLECTOR = Collector("age", (OLDEST, OVERDUE, NEXT_DELAYED), _collect)
