"""Layouts told from what a queue's keys show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.layout import LOCKS_LATE, layout_of_keys, layout_of_version
from qobserve.model.reply import Fault

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

FAULT = Fault("WRONGTYPE Operation against a key holding the wrong kind of value")


@pytest.mark.parametrize(
    ("version", "layout"),
    [
        (b"bullmq:6.7.0", "6"),
        (b"bullmq:5.81.5", "5"),
        (b"bullmq:4.18.3", "4"),
        (b"bullmq:3.16.2", "3"),
        (b"bullmq:10.0.0", "10"),
        (b"bullmq-pro:7.48.0", "unknown"),  # Pro counts its versions by itself
        (b"bullmq:", "unknown"),
        (b"bullmq:next", "unknown"),
        (b"6.7.0", "unknown"),
        (b"\xff", "unknown"),
        (None, "unknown"),
        (FAULT, "unknown"),
    ],
)
def test_by_the_version_that_a_queue_object_wrote(version: Reply, layout: str) -> None:
    assert layout_of_version(version) == layout


@pytest.mark.parametrize(
    ("priority", "marker", "layout"),
    [
        (2, 0, "3"),
        (0, 1, "5+"),
        (2, 1, "5+"),  # a 3.x queue that was upgraded: the marker is the newer trace
        (0, 0, "unknown"),  # the marker is consumed, so that its absence says nothing
        (FAULT, 0, "unknown"),
        (FAULT, 1, "5+"),
        (None, None, "unknown"),
    ],
)
def test_by_keys_where_no_version_is_written(priority: Reply, marker: Reply, layout: str) -> None:
    assert layout_of_keys(priority, marker) == layout


def test_which_layouts_lock_a_job_late() -> None:
    assert LOCKS_LATE == ("3", "4", "unknown")
