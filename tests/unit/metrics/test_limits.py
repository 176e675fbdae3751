"""What holds a queue back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from golden.page import EMPTY, FULL, UNREAD

from qobserve.metrics.limits import COLLECTOR

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_queue_that_is_held_back_in_every_way_but_one(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, FULL) == {
        "bullmq_queue_paused": {"q": 1},
        "bullmq_queue_concurrency_limit": {"q": 5},
        "bullmq_queue_rate_limited_seconds": {"q": 2.5},
        "bullmq_queue_blocked": {
            'q,reason="paused"': 1,
            'q,reason="rate_limited"': 1,
            'q,reason="no_workers"': 0,
            'q,reason="concurrency_reached"': 1,
            'q,reason="scheduler_overdue"': 1,
            'q,reason="stalled"': 1,
        },
        "bullmq_queue_unlocked_jobs": {"q": 1},
    }


def test_a_queue_without_work_is_not_blocked(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, EMPTY) == {
        "bullmq_queue_paused": {"q": 0},
        "bullmq_queue_concurrency_limit": {},
        "bullmq_queue_rate_limited_seconds": {"q": 0},
        "bullmq_queue_blocked": {
            'q,reason="paused"': 0,
            'q,reason="rate_limited"': 0,
            'q,reason="no_workers"': 0,
            'q,reason="concurrency_reached"': 0,
            'q,reason="scheduler_overdue"': 0,
            'q,reason="stalled"': 0,
        },
        "bullmq_queue_unlocked_jobs": {"q": 0},
    }


def test_what_is_unknown_is_absent(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, UNREAD) == {
        "bullmq_queue_paused": {},
        "bullmq_queue_concurrency_limit": {},
        "bullmq_queue_rate_limited_seconds": {},
        "bullmq_queue_blocked": {},
        "bullmq_queue_unlocked_jobs": {},
    }
