"""What the figures should be: ratios within one run, so that the machine matters little."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dataset import Filling
    from report import Row

_MOST_READ_PER_FLOOR = 3.0
_MOST_SCRAPE_PER_OWN = 1.0
_LEAST_SERIES_PER_OWN = 5.0
_MOST_CPU_PER_FLOOR = 1.5
_MOST_BIG_PER_SMALL = 1.15
_MOST_SEARCHING_PER_RESTING = 1.15
_WORST_CASE = "the worst case: every queue has changed since the last go, so nothing remembered saves work"
_FEW = "one disturbed go in twenty decides it, so the median is judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A ratio and its limit: at most that, or with `least` at least that; one without a limit is told, not judged.

    `calm` is the same ratio between the quickest goes, which other work on the machine disturbs least.
    `why` says what a ratio is that is not judged.
    """

    name: str
    value: float
    limit: float | None
    calm: float | None = None
    least: bool = False
    why: str = ""

    @property
    def met(self) -> bool | None:
        """Whether it holds; None without a limit."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.least else self.value <= self.limit


def targets(rows: Sequence[Row]) -> list[Target]:
    """All targets of a run, and the ratios that are told beside them."""
    return [*_against_others(rows), *_by_size(rows), *_discovery(rows), *_all_changed(rows)]


def _against_others(rows: Sequence[Row]) -> Iterator[Target]:
    floor, read, scrape, own = (_row(rows, kind) for kind in ("floor", "read", "scrape", "own"))
    for name, ours in (("our read", read), ("our scrape", scrape)):
        spent = ours.figures.redis_ms / floor.figures.redis_ms
        yield Target(name=f"{name} / floor, Redis CPU", value=spent, limit=_MOST_CPU_PER_FLOOR)
    yield _time("our read / floor, time", read, floor, _MOST_READ_PER_FLOOR)
    yield _time("our scrape / BullMQ's own, time", scrape, own, _MOST_SCRAPE_PER_OWN)
    series = (scrape.series or 0) / (own.series or 1)
    yield Target(name="our scrape / BullMQ's own, series", value=series, limit=_LEAST_SERIES_PER_OWN, least=True)


def _by_size(rows: Sequence[Row]) -> Iterator[Target]:
    """More jobs against fewer, among queues that are filled alike."""
    fillings = sorted({row.filling for row in rows}, key=lambda filling: (filling.waiting, filling.jobs))
    for few, many in pairwise(fillings):
        if few.waiting == many.waiting:
            for kind, name in (("read", "our read"), ("scrape", "our scrape")):
                of_both = f"{name}, {many.jobs:,} / {few}, time"
                yield _time(of_both, _row(rows, kind, many), _row(rows, kind, few), _MOST_BIG_PER_SMALL)


def _discovery(rows: Sequence[Row]) -> Iterator[Target]:
    searching, resting = _row(rows, "searching").figures, _row(rows, "resting").figures
    name = "our scrape beside a search / without"
    limit = _MOST_SEARCHING_PER_RESTING
    yield Target(name=f"{name}, median", value=searching.median / resting.median, limit=limit)
    yield Target(name=f"{name}, p95", value=searching.p95 / resting.p95, limit=None, why=_FEW)


def _all_changed(rows: Sequence[Row]) -> Iterator[Target]:
    # The second floor and the second own were measured in turns with these.
    floor, own = (_row(rows[::-1], kind) for kind in ("floor", "own"))
    for name, kind, other in (("our read / floor", "read", floor), ("our scrape / BullMQ's own", "scrape", own)):
        yield _time(f"{name}, all changed, time", _row(rows, f"stirred {kind}"), other, None, _WORST_CASE)


def _time(name: str, one: Row, other: Row, limit: float | None, why: str = "") -> Target:
    value = one.figures.median / other.figures.median
    return Target(name=name, value=value, limit=limit, calm=one.figures.least / other.figures.least, why=why)


def _row(rows: Sequence[Row], kind: str, filling: Filling | None = None) -> Row:
    """The row of a kind; the first one, which is of most jobs in all states, unless `filling` says which."""
    return next(row for row in rows if row.kind == kind and filling in (None, row.filling))
