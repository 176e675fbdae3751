"""Second round trip, BullMQ Pro: jobs that wait in groups and not in `wait`.

Pro was not at hand: its keys are as public dashboards read them (docs/bullmq-format.md#pro), unverified.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from qobserve.model.reply import whole
from qobserve.model.snapshot import Groups
from qobserve.reader.connection import pack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply

GROUP_SETS = (b"groups", b"groups:limit", b"groups:max", b"groups:paused")
"""Sorted sets of the groups that have jobs: free to run, rate-limited, at their concurrency, paused."""


class GroupPlan:
    """The commands about the groups of one queue; none where its library is not Pro."""

    def __init__(self, queue: QueueId, version: Reply) -> None:
        self._queue = queue
        self._asks = isinstance(version, bytes) and version.startswith(b"bullmq-pro")

    def commands(self) -> list[bytes]:
        """The number of groups in each set."""
        return [pack(b"ZCARD", self._queue.key(name)) for name in GROUP_SETS] if self._asks else []

    def read(self, take: Iterator[Reply]) -> Groups | None:
        """Take the replies to `commands`."""
        if not self._asks:
            return None
        free, limited, maxed, paused = (whole(reply) or 0 for reply in islice(take, len(GROUP_SETS)))
        return Groups(free=free, limited=limited, maxed=maxed, paused=paused)
