"""How old the oldest job of each state is; the definition and its bounds are in docs/age.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector, OfClock, OfQueue, value
from qobserve.metrics.family import OF_QUEUE, Family, label
from qobserve.metrics.merge import Merge
from qobserve.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Seen
    from qobserve.metrics.family import Row
    from qobserve.model.snapshot import QueueSnapshot

OLDEST = Family(
    "bullmq_queue_oldest_job_age_seconds",
    "gauge",
    "Age of the oldest job in a state: waiting (also while paused) and prioritized since a worker could first have "
    "taken it, active since it started, waiting-children since its children are awaited, failed since it failed; 0 for "
    "no job, absent when unknown.",
    (*OF_QUEUE, "state"),
)
EXACT = Family(
    "bullmq_queue_oldest_job_age_exact",
    "gauge",
    "1 when the age of the oldest waiting or prioritized job rests on an event or on a job that never ran, 0 when its "
    "hash can only bound it (docs/age.md); absent when no job's age is known.",
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


def _of(state: State) -> str:
    return "," + label("state", state)


_WAITING, _PRIORITIZED, _ACTIVE = _of(State.WAITING), _of(State.PRIORITIZED), _of(State.ACTIVE)
_WAITING_CHILDREN, _FAILED = _of(State.WAITING_CHILDREN), _of(State.FAILED)


def _since(queue: str, read: QueueSnapshot) -> Iterator[tuple[str, int | None]]:
    jobs = read.jobs
    waiting = None if read.waiting_since is None else read.waiting_since.ms
    prioritized = None if read.prioritized_since is None else read.prioritized_since.ms
    waiting_jobs = jobs[State.WAITING] + jobs[State.PAUSED] if State.WAITING in jobs and State.PAUSED in jobs else None
    for suffix, count, since_ms in (
        (_WAITING, waiting_jobs, waiting),
        (_PRIORITIZED, jobs.get(State.PRIORITIZED), prioritized),
        (_ACTIVE, jobs.get(State.ACTIVE), read.active_since_ms),
        (_WAITING_CHILDREN, jobs.get(State.WAITING_CHILDREN), read.waiting_children_since_ms),
        (_FAILED, jobs.get(State.FAILED), read.failed_since_ms),
    ):
        if since_ms is not None or count == 0:
            yield queue + suffix, since_ms


def _exact(queue: str, seen: Seen) -> Iterator[Row]:
    for suffix, since in ((_WAITING, seen.queue.waiting_since), (_PRIORITIZED, seen.queue.prioritized_since)):
        if since is not None:
            yield queue + suffix, int(since.exact)


def _overdue(queue: str, seen: Seen) -> Iterator[Row]:
    overdue_ms = seen.queue.overdue_ms(seen.now_ms)
    if overdue_ms is not None:
        yield queue, overdue_ms / 1000


COLLECTOR = Collector(
    "age",
    (
        OfClock(OLDEST, _since),
        OfQueue(EXACT, _exact, merge=Merge.MIN),
        OfQueue(OVERDUE, _overdue, hinge=lambda seen: seen.queue.overdue_ms(seen.now_ms), merge=Merge.MAX),
        value(NEXT_DELAYED, lambda queue: queue.due_ms, per=1000, merge=Merge.MIN),
    ),
)
