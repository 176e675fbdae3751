"""States carry BullMQ's own words."""

from __future__ import annotations

from qobserve.model.states import State


def test_states_are_bullmqs_words() -> None:
    assert [str(state) for state in State] == [
        "waiting",
        "paused",
        "prioritized",
        "delayed",
        "waiting-children",
        "active",
        "completed",
        "failed",
    ]
