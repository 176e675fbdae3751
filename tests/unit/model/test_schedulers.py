"""Schedulers that go on, that have come to their end, and of which nothing tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.reply import Fault
from qobserve.model.schedulers import END_FIELDS, PENDING_FIELDS, going_on, has_ended, parse_schedulers
from qobserve.model.snapshot import Scheduler

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

NEXT = 1796035300000
WRONGTYPE = Fault("WRONGTYPE Operation against a key holding the wrong kind of value")
NO_JOB: Reply = [None, None]
LEGACY = b"mail::1796035299999::5000"
"""A repeatable job whose end date is 1 ms before its next run."""


@pytest.mark.parametrize(
    ("reply", "schedulers"),
    [
        pytest.param([b"a", b"1796035300000", b"b", b"1.7960353e+12"], {b"a": NEXT, b"b": NEXT}, id="as printed"),
        pytest.param([b"b", b"2", b"a", b"1"], {b"b": 2, b"a": 1}, id="in the order of the set"),
        pytest.param([b"a", b"nan", b"b", b"-1", b"c", b"soon", b"d", b"0"], {b"d": 0}, id="scores that are no moment"),
        pytest.param([b"\xff", b"1", b"\\xff", b"2"], {b"\xff": 1}, id="two that read the same: the first"),
        pytest.param([b"\\xff", b"1", b"\xff", b"2"], {b"\\xff": 1}, id="in the other order"),
        pytest.param([b"\xff", b"nan", b"\\xff", b"2"], {b"\\xff": 2}, id="the first is none"),
        pytest.param([b"a", b"1", b"b"], {b"a": 1}, id="cut short"),
        pytest.param([], {}, id="none"),
        pytest.param(None, {}, id="no answer"),
        pytest.param(WRONGTYPE, {}, id="no set"),
    ],
)
def test_members_and_their_next_runs(reply: Reply, schedulers: dict[bytes, int]) -> None:
    found = parse_schedulers(reply)

    assert list(found.items()) == list(schedulers.items())


def seen(name: bytes, *end: Reply) -> bool | None:
    """Whether the scheduler is certain to go on; None where it has come to its end."""
    ended = [name] if has_ended(name, NEXT, list(end), NO_JOB, NEXT) else []
    found = going_on({name: NEXT}, ended, {name: list(end)})
    assert [(scheduler.id, scheduler.next_ms) for scheduler in found] in ([], [(name.decode(), NEXT)])
    return found[0].certain if found else None


def test_fields_that_tell_the_end() -> None:
    assert END_FIELDS == (b"limit", b"ic", b"endDate")
    assert PENDING_FIELDS == (b"timestamp", b"processedOn")


@pytest.mark.parametrize(
    ("job", "ended"),
    [
        pytest.param([b"1796035300000", None], False, id="its last run is late"),
        pytest.param([b"1796035300000", b"1796035300001"], True, id="its last run has begun"),
        pytest.param(NO_JOB, True, id="its last run is over and gone"),
        pytest.param(WRONGTYPE, True, id="nobody knows of its last run"),
    ],
)
def test_a_scheduler_whose_last_run_is_still_to_come_has_not_ended(job: Reply, ended: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert has_ended(b"nightly", NEXT, [b"7", b"7", None], job, NEXT + 1) is ended
    assert has_ended(b"nightly", NEXT, [None, b"7", b"%d" % NEXT], job, NEXT + 1) is ended


@pytest.mark.parametrize(
    ("limit", "made", "end_date", "certain"),
    [
        pytest.param(None, b"7", None, True, id="without an end"),
        pytest.param(b"8", b"7", None, True, id="limit not reached"),
        pytest.param(b"7", b"7", None, None, id="limit reached"),
        pytest.param(b"6", b"7", None, None, id="limit lowered since"),
        pytest.param(None, b"7", b"1796035300000", True, id="the last moment is the next run"),
        pytest.param(None, b"7", b"1796035299999", None, id="the last moment is over before the next run"),
        pytest.param(b"8", b"7", b"1796035299999", None, id="one of two ends is enough: the date"),
        pytest.param(b"7", b"7", b"1796035300000", None, id="one of two ends is enough: the limit"),
        pytest.param(b"many", b"7", b"late", True, id="junk is no end"),
        pytest.param(b"7", None, None, False, id="a limit, but who knows how often it ran"),
        pytest.param(None, None, b"1796035299999", None, id="the hash of a repeatable job has the date too"),
        pytest.param(None, None, None, False, id="a repeatable job, or a hash that is gone"),
    ],
)
def test_the_end_of_a_scheduler(limit: Reply, made: Reply, end_date: Reply, certain: bool | None) -> None:  # noqa: FBT001 - a parameter of the test
    assert seen(b"nightly", limit, made, end_date) is certain


@pytest.mark.parametrize(
    ("name", "certain"),
    [
        pytest.param(LEGACY, None, id="over"),
        pytest.param(b"mail:7:1796035299999:Europe/Rome:0 3 * * *", None, id="over, with an id and a time zone"),
        pytest.param(b"tenant:eu:42:7:1796035299999::5000", None, id="over, with colons in the name"),
        pytest.param(b"tenant:eu:42:7:::5000", False, id="without an end, with colons in the name"),
        pytest.param(b"mail::1796035300000::5000", False, id="not over"),
        pytest.param(b"mail::::5000", False, id="without an end"),
        pytest.param(b"mail:7", False, id="too short to hold one"),
        pytest.param(b"d41d8cd98f00b204e9800998ecf8427e", False, id="the digest that 5.x writes"),
    ],
)
def test_the_end_date_in_the_member_of_a_repeatable_job(name: bytes, certain: bool | None) -> None:  # noqa: FBT001 - a parameter of the test
    assert seen(name, None, None, None) is certain


def test_the_name_of_a_scheduler_that_tells_its_end_is_only_a_name() -> None:
    assert seen(LEGACY, None, b"1", None) is True


@pytest.mark.parametrize("reply", [None, WRONGTYPE, [b"1", b"1"], b"text", 7])
def test_an_end_that_was_not_told_leaves_it_open(reply: Reply) -> None:
    assert not has_ended(b"nightly", NEXT, reply, NO_JOB, NEXT)
    assert going_on({b"nightly": NEXT}, [], {b"nightly": reply}) == [
        Scheduler(id="nightly", next_ms=NEXT, certain=False)
    ]


def test_schedulers_that_are_not_late_are_not_asked_and_keep_their_order() -> None:
    schedulers = {b"late": 1, b"ended": 2, LEGACY: NEXT, b"\xff": 4}
    ends: dict[bytes, Reply] = {b"late": [None, b"1", None], b"ended": [b"1", b"1", None]}

    assert going_on(schedulers, [b"ended"], ends) == [
        Scheduler(id="late", next_ms=1),
        Scheduler(id=LEGACY.decode(), next_ms=NEXT),
        Scheduler(id="\\xff", next_ms=4),
    ]


def test_a_run_before_the_end_date_that_is_past_is_the_last_one() -> None:
    """With a cron pattern BullMQ plans nothing beyond the end date: the score stays at the last run before it."""
    end = [None, b"5", b"%d" % (NEXT + 30_000)]

    assert not has_ended(b"cron", NEXT, end, NO_JOB, NEXT + 30_000)
    assert has_ended(b"cron", NEXT, end, NO_JOB, NEXT + 30_001)
