"""Which schedulers are asked for their end, and when they have to be asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.keys import QueueId
from qobserve.model.reading import Answers
from qobserve.model.reply import Fault
from qobserve.model.snapshot import Scheduler
from qobserve.reader.memory import QueueMemory
from qobserve.reader.questions import Windows
from qobserve.reader.schedulers import SchedulerPlan

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

QUEUE = QueueId(b"bull", b"q")
NOW = 1796035293012
NO_JOB: Reply = [None, None]
NOTHING = Answers(*[None] * len(Answers._fields))


def plan(**next_ms: int) -> SchedulerPlan:
    """A plan for schedulers by name and next run."""
    members: list[Reply] = [part for name, ms in next_ms.items() for part in (name.encode(), b"%d" % ms)]
    return planned(members)


def planned(reply: Reply, memory: QueueMemory | None = None, most: int = 20) -> SchedulerPlan:
    answers = NOTHING._replace(schedulers_first=reply)
    return SchedulerPlan(QUEUE, answers, memory or QueueMemory(), Windows(jobs=100, schedulers=most), NOW)


def words(commands: list[bytes]) -> list[list[bytes]]:
    return [command.split(b"\r\n")[2::2] for command in commands]


def test_those_whose_next_run_is_past_by_more_than_a_second_are_asked() -> None:
    assert words(plan(first=NOW - 9000, late=NOW - 1001, due=NOW - 1000, next=NOW + 1).commands) == [
        [b"HMGET", b"bull:q:repeat:first", b"limit", b"ic", b"endDate"],
        [b"HMGET", b"bull:q:repeat:late", b"limit", b"ic", b"endDate"],
        [b"HMGET", b"bull:q:repeat:first:%d" % (NOW - 9000), b"timestamp", b"processedOn"],
        [b"HMGET", b"bull:q:repeat:late:%d" % (NOW - 1001), b"timestamp", b"processedOn"],
    ]


def test_those_that_have_ended_are_left_out_and_the_others_stay_in_their_order() -> None:
    asked = plan(ended=NOW - 9000, late=NOW - 8000, old=NOW - 7000, next=NOW + 1)

    assert asked.read([[b"3", b"3", None], [b"3", b"2", None], [None, None, None], *[NO_JOB] * 3]) == (
        Scheduler(id="late", next_ms=NOW - 8000),
        Scheduler(id="old", next_ms=NOW - 7000, certain=False),
        Scheduler(id="next", next_ms=NOW + 1),
    )


def test_an_end_that_may_not_be_read_leaves_it_open() -> None:
    assert plan(late=NOW - 8000).read([Fault("NOPERM ..."), NO_JOB]) == (
        Scheduler(id="late", next_ms=NOW - 8000, certain=False),
    )


@pytest.mark.parametrize("reply", [[], None, Fault("WRONGTYPE ...")])
def test_without_schedulers_nothing_is_asked(reply: Reply) -> None:
    none = planned(reply)

    assert (none.commands, none.read([]), none.is_current(NOW + 10**12)) == ([], (), True)


@pytest.mark.parametrize(
    ("now_ms", "current"),
    [(NOW, True), (NOW + 500, True), (NOW + 501, False), (NOW + 10**9, False)],
)
def test_a_plan_holds_until_another_is_late(now_ms: int, current: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert plan(late=NOW - 9000, later=NOW + 90_000, due=NOW - 500).is_current(now_ms) is current


def test_a_plan_that_asks_about_all_holds_as_long_as_the_answers_do() -> None:
    assert plan(late=NOW - 9000).is_current(NOW + 10**9)


def test_a_plan_holds_until_an_end_date_has_passed() -> None:
    asked = plan(late=NOW - 9000)
    asked.read([[None, b"5", b"%d" % (NOW + 30_000)], NO_JOB])

    assert asked.is_current(NOW + 30_000)
    assert not asked.is_current(NOW + 30_001)


ENDED: Reply = [b"1", b"1", None]
GOES_ON: Reply = [None, b"1", None]


@pytest.mark.parametrize(
    ("most", "ends", "last", "score"),
    [
        pytest.param(3, [ENDED, ENDED, ENDED], b"3", b"2", id="all but the last, as more may have its score"),
        pytest.param(3, [ENDED, ENDED, ENDED], b"2", b"1", id="all with another score than the last"),
        pytest.param(3, [ENDED, ENDED, GOES_ON], b"3", b"2", id="up to the first that goes on"),
        pytest.param(3, [GOES_ON, ENDED, ENDED], b"3", None, id="the first one goes on"),
        pytest.param(4, [ENDED, ENDED, ENDED], b"3", None, id="the window shows all there are"),
    ],
)
def test_the_next_look_begins_behind_those_that_have_ended(
    most: int, ends: list[Reply], last: bytes, score: bytes | None
) -> None:
    memory = QueueMemory()
    planned([b"a", b"1", b"b", b"2", b"c", last], memory, most).read([*ends, *[NO_JOB] * 3])

    assert memory.ended_score == score
