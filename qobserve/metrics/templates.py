"""Names of queues as a label: those that a template matches are shown as one queue."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from qobserve.metrics.family import labels, queue_labels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qobserve.model.keys import QueueId

_MOST_KEPT = 20_000


class Templates:
    """The globs under which queues are merged, such as `tenant-*-mail`; the first that matches a name counts.

    Queues of different prefixes stay apart.
    """

    def __init__(self, globs: Iterable[str] = ()) -> None:
        self._globs = tuple(globs)
        self.labels = lru_cache(maxsize=_MOST_KEPT)(self._labels) if self._globs else _own_labels

    def _labels(self, queue: QueueId) -> tuple[str, bool]:
        """A queue's labels as they are printed, and whether it shares them with others."""
        for glob in self._globs:
            if fnmatchcase(queue.name, glob):
                return labels(prefix=queue.prefix, queue=glob), True
        return queue_labels(queue), False


def _own_labels(queue: QueueId) -> tuple[str, bool]:
    return queue_labels(queue), False
