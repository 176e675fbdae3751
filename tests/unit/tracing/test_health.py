"""Trouble begins at once and ends after a while without any."""

from __future__ import annotations

from qobserve.tracing.health import Health


def test_what_is_well_says_nothing() -> None:
    health = Health(10)
    health.well(0)
    assert (health.broken, health.due(5), health.over(100)) == (False, None, False)


def test_trouble_begins_once_and_ends_once() -> None:
    health = Health(10)
    assert [health.trouble(), health.trouble()] == [True, False]
    assert (health.broken, health.due(5), health.over(1_000)) == (True, None, False)
    health.well(5)
    health.well(9)
    assert (health.due(6), health.over(14.9)) == (9, False)
    assert [health.over(15), health.over(16)] == [True, False]
    assert not health.broken
    assert health.trouble()


def test_trouble_in_between_begins_the_wait_anew() -> None:
    health = Health(10)
    health.trouble()
    health.well(0)
    assert not health.trouble()
    assert not health.over(20)
    health.well(20)
    assert [health.over(29), health.over(30)] == [False, True]
