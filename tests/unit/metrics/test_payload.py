"""The largest payload seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from golden.page import EMPTY, FULL, UNREAD

from qobserve.metrics.payload import COLLECTOR

if TYPE_CHECKING:
    from collections.abc import Callable


def test_the_largest_or_nothing(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, FULL) == {"bullmq_job_data_bytes": {"q": 10_485_760}}
    assert collected(COLLECTOR, EMPTY) == {"bullmq_job_data_bytes": {}}
    assert collected(COLLECTOR, UNREAD) == {"bullmq_job_data_bytes": {}}
