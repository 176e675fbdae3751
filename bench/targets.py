"""What the figures should be: ratios within one run, so that the machine matters little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from report import Row

_MOST_READ_PER_FLOOR = 3.0
_MOST_SCRAPE_PER_OWN = 1.0
_LEAST_SERIES_PER_OWN = 5.0
_MOST_CPU_PER_FLOOR = 1.5
_MOST_BIG_PER_SMALL = 1.15
_MOST_SEARCHING_PER_RESTING = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A ratio and its limit: at most that, or with `least` at least that.

    `calm` is the same ratio between the quickest goes, which other work on the machine disturbs least.
    """

    name: str
    value: float
    limit: float
    calm: float | None = None
    least: bool = False

    @property
    def met(self) -> bool:
        """Whether it holds."""
        return self.value >= self.limit if self.least else self.value <= self.limit


def targets(rows: Sequence[Row]) -> list[Target]:
    """All targets of a run."""
    return [*_against_others(rows), *_by_size(rows), _discovery(rows)]


def _against_others(rows: Sequence[Row]) -> Iterator[Target]:
    floor, read, scrape, own = (_row(rows, kind) for kind in ("floor", "read", "scrape", "own"))
    for ours in (read, scrape):
        spent = ours.figures.redis_ms / floor.figures.redis_ms
        yield Target(name=f"{ours.name} / floor, Redis CPU", value=spent, limit=_MOST_CPU_PER_FLOOR)
    yield _time("our read / floor, time", read, floor, _MOST_READ_PER_FLOOR)
    yield _time("our scrape / BullMQ's own, time", scrape, own, _MOST_SCRAPE_PER_OWN)
    # The second floor and the second own were measured in turns with these.
    floor, own = (_row(rows[::-1], kind) for kind in ("floor", "own"))
    yield _time("our read / floor, all changed, time", _row(rows, "stirred read"), floor, _MOST_READ_PER_FLOOR)
    yield _time("our scrape / own, all changed, time", _row(rows, "stirred scrape"), own, _MOST_SCRAPE_PER_OWN)
    series = (scrape.series or 0) / (own.series or 1)
    yield Target(name="our scrape / BullMQ's own, series", value=series, limit=_LEAST_SERIES_PER_OWN, least=True)


def _by_size(rows: Sequence[Row]) -> Iterator[Target]:
    sizes = sorted({row.jobs for row in rows})
    for kind in ("read", "scrape"):
        big = _row(rows, kind, sizes[-1])
        for jobs in sizes[:-1]:
            yield _time(f"{big.name} / {jobs:,} a queue, time", big, _row(rows, kind, jobs), _MOST_BIG_PER_SMALL)


def _time(name: str, one: Row, other: Row, limit: float) -> Target:
    value = one.figures.median / other.figures.median
    return Target(name=name, value=value, limit=limit, calm=one.figures.least / other.figures.least)


def _discovery(rows: Sequence[Row]) -> Target:
    return Target(
        name="scrape beside a search / without, p95",
        value=_row(rows, "searching").figures.p95 / _row(rows, "resting").figures.p95,
        limit=_MOST_SEARCHING_PER_RESTING,
    )


def _row(rows: Sequence[Row], kind: str, jobs: int | None = None) -> Row:
    """The row of a kind; the first one, which is of the largest size, unless `jobs` says which."""
    return next(row for row in rows if row.kind == kind and jobs in (None, row.jobs))
