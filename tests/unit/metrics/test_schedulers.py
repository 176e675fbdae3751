"""Schedulers and their next runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from golden.page import EMPTY, FULL, UNREAD

from qobserve.metrics.schedulers import COLLECTOR

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT, NEXT = "bullmq_job_schedulers", "bullmq_job_scheduler_next_run_timestamp_seconds"


def test_schedulers_none_and_unknown(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, FULL) == {
        COUNT: {"q": 3},
        NEXT: {'q,scheduler="nightly"': 1796035287.012, 'q,scheduler="every \\"5\\""': 1796035353.012},
    }
    assert collected(COLLECTOR, EMPTY) == {COUNT: {"q": 0}, NEXT: {}}
    assert collected(COLLECTOR, UNREAD) == {COUNT: {}, NEXT: {}}
