"""What the scores of BullMQ's sorted sets say; they are doubles, and every operation here is exact on doubles.

Source of the facts: docs/bullmq-format.md#scores.
"""

from __future__ import annotations

import math

_DELAY_SLOTS = 4096
_LATEST_MS = 8_640_000_000_000_000
"""The last moment that JavaScript's clock knows; what lies beyond it, or before 1970, was never a moment."""
_LEVEL = 1 << 32


def score(raw: bytes | float) -> float | None:
    """A score as Redis prints it, or None for what is no finite number."""
    try:
        value = float(raw)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def milliseconds(raw: bytes | float) -> int | None:
    """The moment that a score of `completed`, `failed`, `waiting-children` or `repeat` holds, in ms since the epoch."""
    return _moment(score(raw))


def due_ms(raw: bytes | float) -> int | None:
    """When a member of `delayed` is due, in ms since the epoch: the score is due x 4096 plus a tie-break below 4096."""
    value = score(raw)
    return None if value is None else _moment(value // _DELAY_SLOTS)


def level(raw: bytes | float) -> int | None:
    """The priority of a member of `prioritized`: the score is priority x 2^32 plus an arrival counter."""
    value = score(raw)
    return None if value is None else int(value // _LEVEL)


def level_floor(priority: int) -> int:
    """The lowest score that a job of this priority can have in `prioritized`."""
    return priority * _LEVEL


def _moment(ms: float | None) -> int | None:
    return int(ms) if ms is not None and 0 <= ms <= _LATEST_MS else None
