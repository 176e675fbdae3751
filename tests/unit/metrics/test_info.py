"""What a queue is, and whether all of it could be read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from golden.page import EMPTY, FULL, UNREAD

from qobserve.metrics.info import COLLECTOR

if TYPE_CHECKING:
    from collections.abc import Callable

INFO, SUCCESS = "bullmq_queue_info", "bullmq_queue_read_success"


def test_what_a_queue_is(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, FULL) == {
        INFO: {'layout="5+",library="bullmq-pro",q,version="7.48.0"': 1},
        SUCCESS: {"q": 1},
    }
    assert collected(COLLECTOR, EMPTY) == {
        INFO: {'layout="6",library="bullmq",q,version="6.7.0"': 1},
        SUCCESS: {"q": 1},
    }
    assert collected(COLLECTOR, UNREAD) == {
        INFO: {'layout="unknown",library="bullmq",q,version=""': 1},
        SUCCESS: {"q": 0},
    }


def test_a_version_cannot_break_out_of_its_label(collected: Callable[..., object]) -> None:
    hostile = replace(EMPTY, version='1"} 2\n\\', library='a",b="')

    assert collected(COLLECTOR, hostile) == {
        INFO: {r'layout="6",library="a\",b=\"",q,version="1\"} 2\n\\"': 1},
        SUCCESS: {"q": 1},
    }
