"""From the answers about a queue to its snapshot: all of it, none of it, and the layouts in between."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from qobserve.model.events import NO_STREAM, StreamFacts
from qobserve.model.job import ReadyAt
from qobserve.model.keys import QueueId
from qobserve.model.reading import Answers, Details, Meta, Rest, meta_of, queue_snapshot
from qobserve.model.reply import Fault
from qobserve.model.snapshot import Groups, Problem, QueueSnapshot, Scheduler, Workers
from qobserve.model.states import State

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

QUEUE = QueueId(b"bull", b"orders")
NOW = 1796035293012
WRONGTYPE = Fault("WRONGTYPE Operation against a key holding the wrong kind of value")
NOTHING = Answers(*[None] * len(Answers._fields))
REFUSED = Answers(*[WRONGTYPE] * len(Answers._fields))
FULL = Answers(
    wait_length=3,
    wait_tail=[b"3", b"2", b"1"],
    wait_head=b"3",
    paused_tail=[b"4"],
    active_tail=[b"6", b"5"],
    prioritized_length=1,
    prioritized_first=[b"7", b"12884901890"],
    delayed_length=2,
    delayed_first=[b"8", b"7356560560177153"],
    children_length=1,
    children_first=[b"9", b"1796035290001"],
    completed_length=20,
    completed_last=[b"10", b"1796035290002"],
    failed_length=30,
    failed_first=[b"11", b"1796035290003"],
    failed_last=[b"12", b"1796035290004"],
    meta=[b"10000", b"bullmq:5.81.5", b"1", b"4", b"100", b"1000"],
    id=b"13",
    completed_count=b"40",
    failed_count=b"50",
    events=[b"length", 7],
    limiter_ttl=750,
    schedulers_first=[b"nightly", b"1796035300000", b"\xff", b"1796035400000", b"odd", b"nan"],
)
STREAM = StreamFacts(added=32001, retained=10019, last_ms=1796035293012)
DETAILS = Details(
    rest=Rest(limiter=b"100"),
    waiting_since=ReadyAt(ms=1796035280000, source="event", exact=True),
    prioritized_since=ReadyAt(ms=1796035270000, source="hash", exact=False),
    active_since_ms=1796035260000,
    unlocked=1,
    data_bytes=512,
    workers=Workers(count=2, evidence="connections"),
    groups=Groups(free=1, limited=2, maxed=3, paused=4),
    schedulers=(
        Scheduler(id="nightly", next_ms=1796035300000),
        Scheduler(id="\\xff", next_ms=1796035400000, certain=False),
    ),
    layout="5",
    problems=(Problem(part="age", queue=QUEUE, what="..."),),
)
SNAPSHOT = QueueSnapshot(
    queue=QUEUE,
    jobs={
        State.WAITING: 3,
        State.PAUSED: 1,
        State.PRIORITIZED: 1,
        State.DELAYED: 2,
        State.WAITING_CHILDREN: 1,
        State.ACTIVE: 2,
        State.COMPLETED: 20,
        State.FAILED: 30,
    },
    paused=True,
    waiting_since=DETAILS.waiting_since,
    prioritized_since=DETAILS.prioritized_since,
    active_since_ms=1796035260000,
    waiting_children_since_ms=1796035290001,
    failed_since_ms=1796035290003,
    due_ms=1796035293012,
    last_completed_ms=1796035290002,
    last_failed_ms=1796035290004,
    workers=DETAILS.workers,
    unlocked=1,
    concurrency_limit=4,
    rate_limited_ms=750,
    scheduler_count=3,
    schedulers=DETAILS.schedulers,
    add_attempts=13,
    events_added=32001,
    events_retained=10019,
    events_limit=10000,
    last_event_ms=1796035293012,
    completed=40,
    failed=50,
    data_bytes=512,
    library="bullmq",
    version="5.81.5",
    layout="5",
    groups=DETAILS.groups,
    problems=DETAILS.problems,
)


def snapshot(answers: Answers) -> QueueSnapshot:
    return queue_snapshot(QUEUE, answers, NO_STREAM, Details(), NOW)


def test_all_answers() -> None:
    assert queue_snapshot(QUEUE, FULL, STREAM, DETAILS, NOW) == SNAPSHOT


def test_a_queue_of_which_every_question_was_refused_tells_nothing() -> None:
    assert snapshot(REFUSED) == QueueSnapshot(queue=QUEUE, jobs={})


def test_where_no_key_exists_only_the_adds_are_known_to_be_none() -> None:
    assert snapshot(NOTHING) == QueueSnapshot(queue=QUEUE, jobs={}, add_attempts=0, rate_limited_ms=0)


@pytest.mark.parametrize("field", ["wait_length", "delayed_length", "active_tail", "failed_length"])
def test_one_refused_count_leaves_the_others(field: str) -> None:
    states = {
        "wait_length": State.WAITING,
        "delayed_length": State.DELAYED,
        "active_tail": State.ACTIVE,
        "failed_length": State.FAILED,
    }
    jobs = snapshot(FULL._replace(**{field: WRONGTYPE})).jobs

    assert jobs == {state: count for state, count in SNAPSHOT.jobs.items() if state != states[field]}


@pytest.mark.parametrize(
    ("length", "tail", "head", "waiting"),
    [
        pytest.param(0, [], None, 0, id="empty"),
        pytest.param(1, [b"0:1796035863156"], b"0:1796035863156", 0, id="one delayed job wakes a worker"),
        pytest.param(1, [b"0:0"], b"0:0", 0, id="one prioritized job wakes a worker"),
        pytest.param(3, [b"2", b"1", b"0:0"], b"2", 2, id="at the tail"),
        pytest.param(3, [b"0:0", b"2", b"1"], b"0:0", 2, id="at the head, within the window"),
        pytest.param(9, [b"2", b"1"], b"0:1796035863156", 8, id="at the head, beyond the window"),
        pytest.param(9, [b"2", b"0:0"], b"0:1796035863156", 7, id="at both ends"),
        pytest.param(2, [b"0", b"10:0"], b"0", 2, id="ids that only look like it"),
        pytest.param(0, [b"0:0"], b"0:0", 0, id="gone between two commands"),
    ],
)
def test_fake_ids_of_3_x_and_4_x_are_no_jobs(length: int, tail: list[Reply], head: Reply, waiting: int) -> None:
    in_wait = FULL._replace(wait_length=length, wait_tail=tail, wait_head=head)

    assert snapshot(in_wait).jobs[State.WAITING] == waiting


@pytest.mark.parametrize(
    ("tail", "length", "paused"),
    [
        pytest.param([], None, 0, id="none"),
        pytest.param([b"2", b"1"], None, 2, id="the window shows all"),
        pytest.param([b"2", b"1"], 9, 9, id="the window is full"),
        pytest.param([b"0:0", b"1"], None, 1, id="a fake id"),
        pytest.param([b"2", b"0:0"], 9, 8, id="a fake id in a full window"),
        pytest.param(WRONGTYPE, None, None, id="no list"),
        pytest.param([b"2", b"1"], WRONGTYPE, None, id="length refused"),
    ],
)
def test_lists_that_are_short_are_counted_by_their_window(tail: Reply, length: Reply, paused: int | None) -> None:
    shown = FULL._replace(paused_tail=tail, active_tail=tail)
    rest = Details(rest=Rest(paused_length=length, active_length=length))
    jobs = queue_snapshot(QUEUE, shown, NO_STREAM, rest, NOW).jobs

    assert (jobs.get(State.PAUSED), jobs.get(State.ACTIVE)) == (paused, paused)


def test_schedulers_beyond_the_window_are_counted() -> None:
    seen = queue_snapshot(QUEUE, FULL, NO_STREAM, Details(rest=Rest(schedulers_length=30)), NOW)
    unread = queue_snapshot(QUEUE, FULL, NO_STREAM, Details(rest=Rest(schedulers_length=WRONGTYPE)), NOW)
    gone = queue_snapshot(QUEUE, FULL, NO_STREAM, Details(rest=Rest(schedulers_length=1)), NOW)

    assert [(found.scheduler_count, found.schedulers_hidden) for found in (snapshot(FULL), seen, unread, gone)] == [
        (3, 0),
        (30, 27),
        (None, 0),
        (1, 0),  # others went between two commands
    ]


FREE = NOTHING._replace(active_tail=[], meta=[b"10000", b"bullmq:5.81.5", None, None, None, None], limiter_ttl=750)
"""No job runs, the queue is not paused, and a window of a worker's own limit is open."""
LATE = ReadyAt(ms=NOW - 1001, source="hash", exact=True)
HELD = Details(
    rest=Rest(limiter=b"1"),
    waiting_since=LATE,
    workers=Workers(count=1, evidence="connections"),
)
"""A job has waited for just longer than an idle worker takes to fetch it."""
NOBODY = Workers(count=0, evidence="connections")
JUST_NOW = ReadyAt(ms=NOW - 1000, source="event", exact=True)
PAUSED = FREE._replace(meta=[b"10000", b"bullmq:5.81.5", b"1", None, None, None])


@pytest.mark.parametrize(
    ("answers", "details", "limited_ms"),
    [
        pytest.param(FREE, HELD, 750, id="held back"),
        pytest.param(FREE, replace(HELD, waiting_since=None, prioritized_since=LATE), 750, id="prioritized work"),
        pytest.param(FREE, replace(HELD, waiting_since=JUST_NOW, prioritized_since=LATE), 750, id="the older counts"),
        pytest.param(FREE, replace(HELD, waiting_since=JUST_NOW), None, id="work that has just come"),
        pytest.param(FREE, replace(HELD, waiting_since=None), None, id="no work"),
        pytest.param(FREE, replace(HELD, workers=NOBODY), None, id="nobody who could take it"),
        pytest.param(FREE, replace(HELD, workers=None), None, id="who knows whether anybody could take it"),
        pytest.param(FREE._replace(active_tail=[b"5"]), HELD, None, id="jobs run"),
        pytest.param(FREE._replace(active_tail=WRONGTYPE), HELD, None, id="jobs may run"),
        pytest.param(PAUSED, HELD, None, id="paused explains it"),
    ],
)
def test_a_workers_own_limit_shows_where_nothing_else_holds_ready_jobs_back(
    answers: Answers, details: Details, limited_ms: int | None
) -> None:
    assert queue_snapshot(QUEUE, answers, NO_STREAM, details, NOW).rate_limited_ms == limited_ms


def test_a_fake_id_may_be_active_for_a_moment() -> None:
    assert snapshot(FULL._replace(active_tail=[b"5", b"0:0"])).jobs[State.ACTIVE] == 1


@pytest.mark.parametrize(
    ("meta", "paused"),
    [
        ([b"10000", None, b"1", None, None, None], True),
        ([b"10000", None, None, None, None, None], False),
        ([None] * 6, False),
        (WRONGTYPE, None),
    ],
)
def test_paused_is_a_field_that_is_there_or_not(meta: Reply, paused: bool | None) -> None:  # noqa: FBT001 - a parameter of the test
    assert snapshot(FULL._replace(meta=meta)).paused is paused


@pytest.mark.parametrize(
    ("version", "library", "number"),
    [
        (b"bullmq:6.7.0", "bullmq", "6.7.0"),
        (b"bullmq-pro:7.48.0", "bullmq-pro", "7.48.0"),
        (None, "bullmq", ""),
        (b"\xff:1", "\\xff", "1"),
    ],
)
def test_library_and_version(version: Reply, library: str, number: str) -> None:
    seen = snapshot(FULL._replace(meta=[b"10000", version, None, None, None, None]))

    assert (seen.library, seen.version) == (library, number)


def test_counters_that_are_no_counts_are_absent() -> None:
    junk = FULL._replace(id=b"many", completed_count=b"-1", failed_count=b"1.5")
    seen = snapshot(junk)

    assert (seen.add_attempts, seen.completed, seen.failed) == (None, None, None)


@pytest.mark.parametrize(
    "score", [b"junk", b"nan", b"inf", None, WRONGTYPE], ids=["junk", "nan", "inf", "none", "fault"]
)
def test_a_score_that_is_none_says_nothing(score: Reply) -> None:
    seen = snapshot(FULL._replace(delayed_first=[b"8", score], failed_first=[b"8", score], children_first=score))

    assert (seen.due_ms, seen.failed_since_ms, seen.waiting_children_since_ms) == (None, None, None)


def test_meta_by_name() -> None:
    assert meta_of(FULL) == Meta(
        events_limit=b"10000",
        version=b"bullmq:5.81.5",
        paused=b"1",
        concurrency=b"4",
        limit_max=b"100",
        limit_duration=b"1000",
    )
    assert meta_of(REFUSED) == Meta()
    assert meta_of(NOTHING._replace(meta=[b"10000"])) == Meta()
