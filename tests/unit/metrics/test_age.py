"""Ages: since when the oldest job of each state is there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from golden.page import EMPTY, FULL, NOW_MS, UNREAD

from qobserve.metrics.age import COLLECTOR
from qobserve.model.job import ReadyAt
from qobserve.model.states import State

if TYPE_CHECKING:
    from collections.abc import Callable

OLDEST = "bullmq_queue_oldest_job_age_seconds"
EXACT = "bullmq_queue_oldest_job_age_exact"
OVERDUE = "bullmq_queue_delayed_overdue_seconds"
NEXT = "bullmq_queue_next_delayed_timestamp_seconds"
TOMORROW = NOW_MS + 86_400_000


def test_ages_are_seconds_before_the_servers_now(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, FULL) == {
        OLDEST: {
            'q,state="waiting"': 90.5,
            'q,state="prioritized"': 60.0,
            'q,state="active"': 2.25,
            'q,state="waiting-children"': 3600.0,
            'q,state="failed"': 86400.0,
        },
        EXACT: {'q,state="waiting"': 1, 'q,state="prioritized"': 0},
        OVERDUE: {"q": 1.5},
        NEXT: {"q": 1796035291.512},
    }


def test_no_job_is_0_seconds_old(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, EMPTY) == {
        OLDEST: {
            'q,state="waiting"': 0,
            'q,state="prioritized"': 0,
            'q,state="active"': 0,
            'q,state="waiting-children"': 0,
            'q,state="failed"': 0,
        },
        EXACT: {},
        OVERDUE: {"q": 0},
        NEXT: {},
    }


def test_what_is_unknown_is_absent(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, UNREAD) == {OLDEST: {}, EXACT: {}, OVERDUE: {}, NEXT: {}}


def test_jobs_of_which_no_moment_is_known_are_absent(collected: Callable[..., object]) -> None:
    crowded = replace(UNREAD, jobs=dict.fromkeys(State, 1))

    assert collected(COLLECTOR, crowded) == {OLDEST: {}, EXACT: {}, OVERDUE: {}, NEXT: {}}


@pytest.mark.parametrize("state", [State.WAITING, State.PAUSED])
def test_one_list_alone_does_not_make_the_other_empty(collected: Callable[..., object], state: State) -> None:
    assert collected(COLLECTOR, replace(UNREAD, jobs={state: 0})) == {OLDEST: {}, EXACT: {}, OVERDUE: {}, NEXT: {}}


def test_an_age_is_never_negative(collected: Callable[..., object]) -> None:
    ahead = replace(
        FULL,
        waiting_since=ReadyAt(ms=TOMORROW, source="hash", exact=True),
        prioritized_since=ReadyAt(ms=TOMORROW, source="event", exact=True),
        active_since_ms=TOMORROW,
        waiting_children_since_ms=TOMORROW,
        failed_since_ms=TOMORROW,
        due_ms=TOMORROW,
    )

    assert collected(COLLECTOR, ahead) == {
        OLDEST: {
            'q,state="waiting"': 0,
            'q,state="prioritized"': 0,
            'q,state="active"': 0,
            'q,state="waiting-children"': 0,
            'q,state="failed"': 0,
        },
        EXACT: {'q,state="waiting"': 1, 'q,state="prioritized"': 1},
        OVERDUE: {"q": 0},
        NEXT: {"q": 1796121693.012},
    }
