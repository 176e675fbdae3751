"""How many workers serve a queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from golden.page import EMPTY, FULL, UNREAD

from qobserve.metrics.workers import COLLECTOR

if TYPE_CHECKING:
    from collections.abc import Callable


def test_workers_none_and_unknown(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, FULL) == {"bullmq_queue_workers": {"q": 6}}
    assert collected(COLLECTOR, EMPTY) == {"bullmq_queue_workers": {"q": 0}}
    assert collected(COLLECTOR, UNREAD) == {"bullmq_queue_workers": {}}
