"""A queue whose events are not followed: the counters that Redis keeps, and when things last happened."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from golden.page import FULL, UNREAD

from qobserve.metrics.throughput import COLLECTOR

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = {
    "bullmq_queue_add_attempts_total": {"q": 13},
    "bullmq_queue_events_total": {"q": 32001},
    "bullmq_jobs_completed_total": {"q": 999_999},
    "bullmq_jobs_failed_total": {"q": 1_000_000},
    "bullmq_queue_events_retained": {"q": 10_019},
    "bullmq_queue_events_limit": {"q": 10_000},
    "bullmq_queue_last_event_timestamp_seconds": {"q": 1796035293.007},
    "bullmq_queue_last_completed_timestamp_seconds": {"q": 1796035293.002},
    "bullmq_queue_last_failed_timestamp_seconds": {"q": 1796035292.992},
}
NOTHING: dict[str, dict[str, float]] = {family.name: {} for family in COLLECTOR.families}


def test_all_that_is_known(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, FULL) == NOTHING | ALL


def test_what_is_unknown_is_absent(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, UNREAD) == NOTHING


def test_a_counter_at_0_is_shown(collected: Callable[..., object]) -> None:
    fresh = replace(UNREAD, add_attempts=0, events_added=0, completed=0, failed=0, events_retained=0, events_limit=0)

    assert collected(COLLECTOR, fresh) == NOTHING | {
        name: {} if name.endswith("_timestamp_seconds") else {"q": 0} for name in ALL
    }
