"""The figures as a table for people, or as JSON for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dataset import Filling
    from rounds import Contender, Figures
    from targets import Target

_HEAD = ("median", "min", "p95", "n", "redis cpu", "commands", "trips", "bytes", "series")
_WIDTHS = (8, 8, 8, 4, 9, 9, 6, 9, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was measured of one contender; None for what does not apply."""

    kind: str
    name: str
    filling: Filling
    figures: Figures
    trips: int | None = None
    wire_bytes: int | None = None
    series: int | None = None

    @classmethod
    def of(cls, contender: Contender, figures: Figures) -> Self:
        """The row of a contender, with what it weighed when it last went."""
        wire_bytes, series = contender.weigh()
        return cls(
            kind=contender.kind,
            name=f"{contender.name}, {contender.filling}",
            filling=contender.filling,
            figures=figures,
            trips=contender.trips,
            wire_bytes=wire_bytes,
            series=series,
        )

    def cells(self) -> Iterator[str]:
        """The columns, times in ms."""
        times = (self.figures.median, self.figures.least, self.figures.p95)
        yield from (f"{seconds * 1000:.1f}" for seconds in times)
        yield str(len(self.figures.seconds))
        yield f"{self.figures.redis_ms:.1f}"
        yield f"{self.figures.commands:.0f}"
        yield from ("-" if value is None else str(value) for value in (self.trips, self.wire_bytes, self.series))

    def as_json(self) -> dict[str, object]:
        """All of it."""
        told = {"kind": self.kind, "name": self.name, "jobs": self.filling.jobs, "all_waiting": self.filling.waiting}
        return {
            **told,
            "trips": self.trips,
            "wire_bytes": self.wire_bytes,
            "series": self.series,
            **self.figures.as_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that a run told."""

    title: str
    rows: Sequence[Row]
    facts: dict[str, float]
    targets: Sequence[Target]

    def as_text(self) -> str:
        """For people."""
        head = [f"{self.title}; times in ms", *self._table()] if self.rows else [self.title]
        return "\n".join([*head, "", *self._facts(), "", *self._targets()])

    def as_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "title": self.title,
            "rows": [row.as_json() for row in self.rows],
            "facts": self.facts,
            "targets": [{**asdict(target), "met": target.met} for target in self.targets],
        }

    def _table(self) -> Iterator[str]:
        wide = max(len(row.name) for row in self.rows)
        for name, cells in (("", _HEAD), *((row.name, row.cells()) for row in self.rows)):
            columns = (f"{cell:>{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
            yield " ".join([f"{name:{wide}}", *columns])

    def _facts(self) -> Iterator[str]:
        wide = max(len(name) for name in self.facts)
        for name, value in self.facts.items():
            yield f"{name:{wide}} {value:10,.1f}"

    def _targets(self) -> Iterator[str]:
        wide = max(len(target.name) for target in self.targets)
        for target in self.targets:
            calm = "" if target.calm is None else f"(between the quickest: {target.calm:.2f})"
            said = " ".join(filter(None, (calm, target.why)))
            yield f"{target.name:{wide}} {target.value:7.2f}  {_verdict(target):14} {said}".rstrip()


def _verdict(target: Target) -> str:
    if target.limit is None:
        return "no target"
    return f"{'>=' if target.least else '<='} {target.limit:<4g} {'ok' if target.met else 'MISSED'}"
