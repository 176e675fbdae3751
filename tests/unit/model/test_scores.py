"""Scores of sorted sets, with the very numbers that BullMQ wrote, and beyond the whole numbers that a double holds."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.model.scores import due_ms, level, level_floor, milliseconds

LAST_TIE_BREAK = 4095
EXACT_BELOW_MS = 2**53 // 4096  # 2039-09-07: from here on an odd tie-break may be rounded
REACH_MS = 2**54 // 4096  # 2109: from here on every second even one, too


def printed(score: float) -> bytes:
    """As Redis prints a score."""
    return b"%.17g" % score


@pytest.mark.parametrize(
    ("score", "due"),
    [
        (b"7356560560177152", 1796035293012),  # two jobs of the same ms, 5.8.6 and later
        (b"7356560560177153", 1796035293012),
        (b"7356560569434117", 1796035295272),  # up to 5.8.5 the tie-break is the job counter: here 5
        (b"9694583193600000", 2366841600000),  # 2045, past 2^53
        (7356560560177153.0, 1796035293012),  # as the newer protocol brings it
        (b"0", 0),
    ],
)
def test_due_dates_that_bullmq_wrote(score: bytes | float, due: int) -> None:
    assert due_ms(score) == due


def test_a_due_date_in_2045() -> None:
    due = due_ms(b"9694583193600000")

    assert due is not None
    assert datetime.fromtimestamp(due / 1000, UTC) == datetime(2045, 1, 1, tzinfo=UTC)


@given(due=st.integers(0, EXACT_BELOW_MS - 1), tie_break=st.integers(0, LAST_TIE_BREAK))
def test_due_dates_are_exact_up_to_2039(due: int, tie_break: int) -> None:
    assert due_ms(printed(float(due * 4096 + tie_break))) == due


@given(due=st.integers(EXACT_BELOW_MS, REACH_MS - 1), tie_break=st.integers(0, LAST_TIE_BREAK))
def test_due_dates_beyond_2039_are_exact_but_for_the_last_tie_break(due: int, tie_break: int) -> None:
    # The double next to the 4096th job of one ms may be the next ms.
    allowed = {due, due + 1} if tie_break == LAST_TIE_BREAK else {due}

    assert due_ms(printed(float(due * 4096 + tie_break))) in allowed


@pytest.mark.parametrize(
    ("score", "priority"),
    [
        (b"12884901890", 3),  # priority 3, the second job
        (b"12884901888", 3),  # pushed back by a rate limit: counter 0
        (b"12884901887", 2),
        (b"4294967297", 1),
        (printed(2097151 * 2**32 + 2**32 - 1), 2**21 - 1),  # the last priority, the last counter
        (b"0", 0),
    ],
)
def test_priorities_that_bullmq_wrote(score: bytes, priority: int) -> None:
    assert level(score) == priority


@given(priority=st.integers(0, 2**21 - 1), counter=st.integers(0, 2**32 - 1))
def test_each_priority_begins_at_its_floor(priority: int, counter: int) -> None:
    assert level(printed(float(level_floor(priority) + counter))) == priority
    assert level_floor(priority) == priority * 4294967296


@pytest.mark.parametrize(
    ("score", "moment"),
    [
        (b"1796035293012", 1796035293012),
        (b"1796035863293.0002", 1796035863293),
        (1796035293012.0, 1796035293012),
        (b"1.7960352930120000e+12", 1796035293012),
    ],
)
def test_plain_milliseconds(score: bytes | float, moment: int) -> None:
    assert milliseconds(score) == moment


@pytest.mark.parametrize("decode", [due_ms, milliseconds])
@pytest.mark.parametrize("score", [b"-1", b"-4096", b"1e300", b"35389440000000008192", -math.inf])
def test_what_was_never_a_moment_is_nothing(decode: type, score: bytes | float) -> None:
    last = 8_640_000_000_000_000  # of JavaScript's clock

    assert decode(score) is None
    assert (milliseconds(float(last)), milliseconds(float(last + 2))) == (last, None)
    assert (due_ms(float(last * 4096)), due_ms(float((last + 2) * 4096))) == (last, None)


@pytest.mark.parametrize("decode", [due_ms, level, milliseconds])
@pytest.mark.parametrize("score", [b"inf", b"-inf", b"nan", b"", b"junk", b"\xff", math.inf, -math.inf, math.nan])
def test_what_is_no_finite_number_is_nothing(decode: type, score: bytes | float) -> None:
    assert decode(score) is None
