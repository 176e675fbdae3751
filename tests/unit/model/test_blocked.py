"""Why work is not done: each reason alone, and none where there is nothing to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qobserve.model.blocked import Reason, lateness, reasons
from qobserve.model.keys import QueueId
from qobserve.model.snapshot import QueueSnapshot, Scheduler, Workers
from qobserve.model.states import State

NOW = 1796035293012
RUNNING = QueueSnapshot(
    queue=QueueId(b"bull", b"orders"),
    jobs={**dict.fromkeys(State, 0), State.WAITING: 3, State.ACTIVE: 2},
    paused=False,
    workers=Workers(count=1, evidence="connections"),
    unlocked=0,
    concurrency_limit=3,
    rate_limited_ms=0,
    scheduler_count=1,
    schedulers=(Scheduler(id="nightly", next_ms=NOW + 1),),
)
"""There is work to do, and it is done."""

NONE = Workers(count=0, evidence="connections")
STUCK = {
    "paused": True,
    "rate_limited_ms": 1,
    "workers": NONE,
    "concurrency_limit": 2,
    "unlocked": 1,
    "schedulers": (Scheduler(id="nightly", next_ms=NOW - 5001),),
}
IN_THEIR_OWN_RIGHT = {Reason.STALLED, Reason.SCHEDULER_OVERDUE}


def holding(queue: QueueSnapshot) -> set[str]:
    return {str(reason) for reason, holds in reasons(queue, NOW).items() if holds}


def test_a_queue_that_works_shows_every_reason_as_absent() -> None:
    assert reasons(RUNNING, NOW) == {
        Reason.PAUSED: False,
        Reason.RATE_LIMITED: False,
        Reason.NO_WORKERS: False,
        Reason.CONCURRENCY_REACHED: False,
        Reason.SCHEDULER_OVERDUE: False,
        Reason.STALLED: False,
    }


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("paused", "paused"),
        ("rate_limited_ms", "rate_limited"),
        ("workers", "no_workers"),
        ("concurrency_limit", "concurrency_reached"),
        ("schedulers", "scheduler_overdue"),
        ("unlocked", "stalled"),
    ],
)
def test_each_reason_alone(field: str, reason: str) -> None:
    assert holding(replace(RUNNING, **{field: STUCK[field]})) == {reason}  # type: ignore[arg-type]  # by name of the field


@pytest.mark.parametrize("state", [State.WAITING, State.PAUSED, State.PRIORITIZED])
def test_ready_work_in_any_list_is_blocked(state: State) -> None:
    stuck = replace(RUNNING, **STUCK, jobs={**dict.fromkeys(State, 0), state: 1, State.ACTIVE: 2})  # type: ignore[arg-type]  # as above

    assert holding(stuck) == set(map(str, Reason))


def test_a_delayed_job_that_is_overdue_is_ready_work() -> None:
    jobs = {**dict.fromkeys(State, 0), State.DELAYED: 1}
    overdue = replace(RUNNING, jobs=jobs, workers=NONE, due_ms=NOW - 1)

    assert holding(overdue) == {"no_workers"}
    assert holding(replace(overdue, due_ms=NOW)) == set()


@pytest.mark.parametrize("state", [State.DELAYED, State.WAITING_CHILDREN, State.COMPLETED, State.FAILED])
def test_without_ready_work_only_stalled_jobs_and_late_schedulers_count(state: State) -> None:
    stuck = replace(RUNNING, **STUCK, due_ms=NOW + 1, jobs={**dict.fromkeys(State, 0), state: 1, State.ACTIVE: 2})  # type: ignore[arg-type]  # as above

    assert holding(stuck) == set(map(str, IN_THEIR_OWN_RIGHT))


@pytest.mark.parametrize(("late_ms", "overdue"), [(5000, set()), (5001, {"scheduler_overdue"})])
def test_a_scheduler_has_five_seconds(late_ms: int, overdue: set[str]) -> None:
    queue = replace(RUNNING, schedulers=(Scheduler(id="nightly", next_ms=NOW - late_ms),))

    assert holding(queue) == overdue


def test_what_is_not_known_is_left_out() -> None:
    assert reasons(QueueSnapshot(queue=RUNNING.queue, jobs={}), NOW) == {}


@pytest.mark.parametrize("unread", [State.WAITING, State.PAUSED, State.PRIORITIZED, State.DELAYED])
def test_where_ready_work_may_be_hidden_only_what_is_certain_is_told(unread: State) -> None:
    jobs = {state: count for state, count in RUNNING.jobs.items() if state != unread} | {State.ACTIVE: 2}
    idle = {state: 0 if state != State.ACTIVE else count for state, count in jobs.items()}
    half = replace(RUNNING, jobs=idle, paused=True, workers=NONE)

    assert reasons(half, NOW) == {
        Reason.RATE_LIMITED: False,
        Reason.CONCURRENCY_REACHED: False,
        Reason.SCHEDULER_OVERDUE: False,
        Reason.STALLED: False,
    }


def test_without_a_limit_concurrency_is_never_reached() -> None:
    assert reasons(replace(RUNNING, concurrency_limit=None), NOW)[Reason.CONCURRENCY_REACHED] is False


EARLY, CERTAIN = Scheduler(id="early", next_ms=NOW - 5000, certain=False), Scheduler(id="nightly", next_ms=NOW - 5001)
MAYBE = replace(CERTAIN, id="maybe", certain=False)


@pytest.mark.parametrize(
    ("schedulers", "due_ms", "overdue"),
    [
        pytest.param((MAYBE,), None, None, id="it may have come to its end"),
        pytest.param((MAYBE,), NOW - 5000, None, id="its job may be a moment late"),
        pytest.param((MAYBE,), NOW - 5001, True, id="its job may be the one that is late"),
        pytest.param((MAYBE, CERTAIN), None, True, id="another is certain"),
        pytest.param((CERTAIN, MAYBE), None, True, id="another is certain, in any order"),
        pytest.param((EARLY,), NOW - 5001, False, id="it is not late at all"),
        pytest.param((), NOW - 5001, False, id="none"),
    ],
)
def test_of_a_scheduler_that_may_have_ended_only_a_late_job_tells(
    schedulers: tuple[Scheduler, ...], due_ms: int | None, *, overdue: bool | None
) -> None:
    jobs = {**RUNNING.jobs, State.DELAYED: 0 if due_ms is None else 1}
    queue = replace(RUNNING, schedulers=schedulers, jobs=jobs, due_ms=due_ms)

    assert reasons(queue, NOW).get(Reason.SCHEDULER_OVERDUE) is overdue
    assert lateness(queue, NOW) == (due_ms is not None, overdue)


def test_lateness_is_not_known_where_nothing_is() -> None:
    assert lateness(QueueSnapshot(queue=RUNNING.queue, jobs={}), NOW) == (False, None)
