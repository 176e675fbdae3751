"""Second round trip, BullMQ Pro: groups with jobs that wait in them and not in `wait`.

Pro was not at hand: its keys are as public dashboards read them (docs/bullmq-format.md#pro), unverified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.reply import whole
from qobserve.model.snapshot import Groups
from qobserve.reader.connection import pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply

_SETS = (b"groups", b"groups:limit", b"groups:max", b"groups:paused")
"""Sorted sets of groups: free to run, rate-limited, at their concurrency, paused."""


def group_commands(queue: QueueId, version: Reply) -> list[bytes]:
    """Ask how many groups each set holds; nothing where the library is not Pro."""
    if isinstance(version, bytes) and version.startswith(b"bullmq-pro"):
        return [pack(b"ZCARD", queue.key(name)) for name in _SETS]
    return []


def groups_of(replies: Sequence[Reply]) -> Groups | None:
    """Understand the replies to `group_commands`; None where the library is not Pro, or a set cannot be read."""
    counts = [count for count in map(whole, replies) if count is not None]
    if len(counts) < len(_SETS):
        return None
    free, limited, maxed, paused = counts
    return Groups(free=free, limited=limited, maxed=maxed, paused=paused)
