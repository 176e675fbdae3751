"""How often a stream is read, and how much of it."""

from __future__ import annotations

import pytest

from qobserve.reader.follow_pace import GROUP_COUNT, MOST_AT_ONCE, Pace, poll_interval

KILOBYTE = 1 << 10


@pytest.mark.parametrize(("streams", "seconds"), [(0, 0.05), (4, 0.05), (1_000, 0.2), (5_000, 1.0), (100_000, 1.0)])
def test_polls_are_rarer_the_more_streams_there_are(streams: int, seconds: float) -> None:
    assert poll_interval(streams) == pytest.approx(seconds)


def test_a_stream_at_full_speed_is_read_well_within_its_window() -> None:
    pace = Pace(limit=10_000)
    pace.note(10.0, 16_000, 1_600_000, 999)
    assert pace.rate == pytest.approx(16_000)
    assert pace.busy(0.05, already=False)
    assert pace.due(1.0) - 10.0 == pytest.approx(10_000 / 16_000 / 8)


def test_a_shorter_stream_is_read_more_often() -> None:
    pace = Pace(limit=1_000)
    pace.note(10.0, 16_000, 1_600_000, 999)
    assert pace.due(1.0) - 10.0 == pytest.approx(0.01)


def test_a_stream_that_rests_goes_back_to_the_others_but_not_at_once() -> None:
    pace = Pace(limit=10_000)
    pace.note(10.0, 200, 20_000, 99)
    rounds = 0
    while pace.busy(0.05, already=True):
        rounds += 1
        pace.note(10.0 + rounds, 0, 0, 0)
    assert 5 < rounds < 15


def test_more_is_asked_for_only_while_entries_are_small() -> None:
    pace = Pace(limit=10_000)
    asked = []
    for _ in range(6):
        asked.append(pace.count)
        pace.note(1.0, pace.count, pace.count * 100, 10)
    assert asked == [8, 32, 128, 512, 2_000, 2_000]
    assert pace.count == MOST_AT_ONCE
    pace.note(1.0, 2_000, 2_000 * 100 * KILOBYTE, 10)
    assert pace.count == 40
    pace.note(1.0, 40, 40 * 10_000 * KILOBYTE, 10)
    assert pace.count == 1
    assert pace.busy(0.05, already=False)
    pace.note(1.0, 1, 100, 10)
    assert pace.count == 4


def test_an_idle_stream_is_polled_with_the_others() -> None:
    pace = Pace(limit=10_000)
    assert pace.count == GROUP_COUNT
    assert not pace.busy(0.05, already=False)
