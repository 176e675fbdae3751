"""Job counts by state, and groups."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from golden.page import EMPTY, FULL, UNREAD

from qobserve.metrics.depth import COLLECTOR

if TYPE_CHECKING:
    from collections.abc import Callable


def test_every_state_that_was_read(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, FULL) == {
        "bullmq_queue_jobs": {
            'q,state="waiting"': 7,
            'q,state="paused"': 3,
            'q,state="prioritized"': 2,
            'q,state="delayed"': 1,
            'q,state="waiting-children"': 4,
            'q,state="active"': 5,
            'q,state="completed"': 1000,
            'q,state="failed"': 12_345_678,
        },
        "bullmq_queue_ready_jobs": {"q": 0},
        "bullmq_queue_groups": {
            'q,status="free"': 1,
            'q,status="limited"': 2,
            'q,status="maxed"': 3,
            'q,status="paused"': 4,
        },
    }


def test_an_empty_queue_shows_every_state_at_0(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, EMPTY) == {
        "bullmq_queue_jobs": {
            'q,state="waiting"': 0,
            'q,state="paused"': 0,
            'q,state="prioritized"': 0,
            'q,state="delayed"': 0,
            'q,state="waiting-children"': 0,
            'q,state="active"': 0,
            'q,state="completed"': 0,
            'q,state="failed"': 0,
        },
        "bullmq_queue_ready_jobs": {"q": 0},
        "bullmq_queue_groups": {},
    }


def test_what_is_unknown_is_absent(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, UNREAD) == {
        "bullmq_queue_jobs": {},
        "bullmq_queue_ready_jobs": {},
        "bullmq_queue_groups": {},
    }


def test_waiting_and_prioritized_jobs_are_ready_unless_the_queue_is_paused(
    collected: Callable[..., dict[str, object]],
) -> None:
    running = replace(FULL, paused=False)

    assert collected(COLLECTOR, running)["bullmq_queue_ready_jobs"] == {"q": 9}
    assert collected(COLLECTOR, replace(FULL, paused=None))["bullmq_queue_ready_jobs"] == {}
