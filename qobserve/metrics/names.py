"""Job names as a label: the first of each queue that come, so that their number stays small."""

from __future__ import annotations

OTHER = "__other__"
"""Stands for all names beyond the limit, and for jobs whose name is not known."""

MOST_REMEMBERED = 10_000
"""How many names beyond the limit are told apart, over all queues: the limit is there to save memory too."""


class LeftOut:
    """How many job names got no series of their own."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def note(self, queue: str, name: str) -> None:
        """Count a name of a queue once."""
        if len(self._seen) < MOST_REMEMBERED:
            self._seen.add(hash((queue, name)))

    @property
    def count(self) -> int:
        """Distinct names so far, up to `MOST_REMEMBERED`."""
        return len(self._seen)
