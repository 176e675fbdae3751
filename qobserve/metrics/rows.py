"""The rows of one family that every queue fills, of queues that a template merges as of one."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from qobserve.metrics.merge import Rises

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from qobserve.metrics.collector import OfQueue, Shown
    from qobserve.metrics.family import Row


class QueueRows:
    """The rows of a family that every queue fills, of merged queues as of one."""

    def __init__(self, source: OfQueue) -> None:
        self.source = source
        self._complete = True
        self._rises: dict[str, Rises] = {}

    def begin(self, shown: Mapping[str, Shown], *, complete: bool) -> None:
        """Drop what is gone."""
        self._complete = complete
        if complete and self._rises:
            self._rises = {labels: rises for labels, rises in self._rises.items() if labels in shown}

    def rows(self, labels: str, shown: Shown) -> Iterable[Row]:
        """What is shown under these labels."""
        source = self.source
        if not shown.merged:
            return source.rows(labels, shown.members[0])
        if source.family.type == "counter":
            return self._summed(labels, shown)
        return source.merge.rows(chain.from_iterable(source.rows(labels, seen) for seen in shown.members))

    def _summed(self, labels: str, shown: Shown) -> Iterable[Row]:
        rises = self._rises.setdefault(labels, Rises())
        values = {
            seen.queue.queue.base: next((value for _, value in self.source.rows(labels, seen)), None)
            for seen in shown.members
        }
        total = rises.take(values, complete=self._complete)
        return () if total is None else ((labels, total),)
