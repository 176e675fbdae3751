"""BullMQ's own words for where a job is."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """A job's state as the layout holds it; `PAUSED` is the list that takes the place of `wait` up to BullMQ 5.

    Source: docs/bullmq-format.md#keys.
    """

    WAITING = "waiting"
    PAUSED = "paused"
    PRIORITIZED = "prioritized"
    DELAYED = "delayed"
    WAITING_CHILDREN = "waiting-children"
    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"


MARKER = b"0:"
"""How a fake id begins that BullMQ up to 4 puts into `wait` to wake a worker; it is never a job."""
