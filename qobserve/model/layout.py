"""Which generation of BullMQ's key layout a queue shows.

Source of the facts: docs/bullmq-format.md#layouts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

UNKNOWN = "unknown"
LOCKS_LATE = ("3", "4", UNKNOWN)
"""Layouts whose workers lock a job a moment after it entered `active`, not in the same script."""


def layout_of_version(version: Reply) -> str:
    """The layout by what a `Queue` object wrote into `meta.version`, such as `bullmq:6.7.0`."""
    if not isinstance(version, bytes):
        return UNKNOWN
    major = version.rpartition(b":")[2].partition(b".")[0]
    return major.decode() if version.startswith(b"bullmq:") and major.isdigit() else UNKNOWN


def layout_of_keys(priority: Reply, marker: Reply) -> str:
    """The layout by what keys there are, where no version is written (Python, workers only, before 5.20).

    Args:
        priority: Length of the sorted set `priority`, which mirrors `wait` up to 3.x.
        marker: Whether the sorted set `marker` exists, which wakes workers since 5.0 (it is consumed, so its absence
            says nothing).
    """
    if isinstance(marker, int) and marker > 0:
        return "5+"
    return "3" if isinstance(priority, int) and priority > 0 else UNKNOWN
