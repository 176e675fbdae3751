"""How the rows of queues that a template merges become those of one queue."""

from __future__ import annotations

import operator
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from qobserve.metrics.family import Row


class Merge(Enum):
    """What becomes of values with the same labels; what a queue does not tell is left out."""

    SUM = "sum"
    MAX = "largest"
    MIN = "smallest"

    def rows(self, rows: Iterable[Row]) -> Iterable[Row]:
        """One row for each set of labels, in the order in which they were met."""
        fold = _FOLDS[self]
        merged: dict[str, float] = {}
        for labels, value in rows:
            merged[labels] = fold(merged[labels], value) if labels in merged else value
        return merged.items()


_FOLDS: dict[Merge, Callable[[float, float], float]] = {Merge.SUM: operator.add, Merge.MAX: max, Merge.MIN: min}


class Rises:
    """The sum of counters that come and go: what each rose by since it was first seen, so that the sum never falls.

    Those that are there at the first look count in full; who comes later begins where it is, as `rate` would have it.
    """

    def __init__(self) -> None:
        self._total: float | None = None
        self._last: dict[bytes, float] = {}

    def take(self, values: Mapping[bytes, float | None], *, complete: bool) -> float | None:
        """The sum after this look; None before anything is known. A counter that fell has begun anew, at 0.

        Args:
            values: What each counter says now; None for one that could not be read.
            complete: Whether those that are not among them are gone, and not just out of sight.
        """
        known = {each: now for each, now in values.items() if now is not None}
        if self._total is not None:
            self._total += sum(_rise(self._last[each], now) for each, now in known.items() if each in self._last)
        elif known:
            self._total = sum(known.values())
        staying = {each: last for each, last in self._last.items() if each in values} if complete else self._last
        self._last = {**staying, **known}
        return self._total


def _rise(before: float, now: float) -> float:
    return now - before if now >= before else now
