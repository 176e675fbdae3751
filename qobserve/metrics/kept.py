"""What was printed of queues and serves again: nearly all of it, where most queues rest between two scrapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from qobserve.metrics.collector import age, nothing
from qobserve.metrics.family import number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from qobserve.metrics.collector import OfClock, Shown
    from qobserve.metrics.rows import QueueRows

Changed: TypeAlias = "Collection[str] | None"
"""The labels under which something else is shown than the last time, where all others and their order are the same;
None where that cannot be said."""


class Lasting:
    """The blocks of families that depend on a queue's snapshot and little else, family by family."""

    def __init__(self, rows: Sequence[QueueRows]) -> None:
        self._rows = rows
        hinges = dict.fromkeys(each.source.hinge for each in rows)
        self._hinges = [hinge for hinge in hinges if hinge is not None and hinge is not nothing]
        self._places: dict[str, int] = {}
        self._hung: list[list[object]] = []
        self._columns: list[list[str]] = []

    def columns(self, shown: Mapping[str, Shown], changed: Changed) -> Iterator[tuple[str, ...]]:
        """For each family the blocks of all queues."""
        if changed is None or len(self._places) != len(shown):
            self._places = {labels: place for place, labels in enumerate(shown)}
            self._hung = [self._hinged(each) for each in shown.values()]
            self._columns = [[""] * len(shown) for _ in self._rows]
            changed = shown.keys()
        elif self._hinges:
            changed = [*changed, *self._swung(shown)]
        for labels in changed:
            place = self._places[labels]
            for column, rows in zip(self._columns, self._rows, strict=True):
                column[place] = rows.source.family.lines(rows.rows(labels, shown[labels]))
        return (tuple(column) for column in self._columns)

    def forget(self) -> None:
        """Print everything anew the next time."""
        self._places = {}

    def _hinged(self, shown: Shown) -> list[object]:
        return [hinge(seen) for hinge in self._hinges for seen in shown.members]

    def _swung(self, shown: Mapping[str, Shown]) -> Iterator[str]:
        """The labels whose rows depend on something beside the snapshot that differs."""
        for place, (labels, each) in enumerate(shown.items()):
            now = self._hinged(each)
            if now != self._hung[place]:
                self._hung[place] = now
                yield labels


class Clock:
    """The blocks of a family of ages."""

    def __init__(self, source: OfClock) -> None:
        self._source = source
        self._heads: dict[str, list[tuple[str, int | None]]] = {}

    def blocks(self, shown: Mapping[str, Shown], changed: Changed) -> tuple[str, ...]:
        """The ages of all queues."""
        if changed is None or len(self._heads) != len(shown):
            self._heads = {labels: self._of(labels, each) for labels, each in shown.items()}
        else:
            self._heads.update({labels: self._of(labels, shown[labels]) for labels in changed})
        return tuple([self._block(labels, each) for labels, each in shown.items()])

    def forget(self) -> None:
        """Work everything out anew the next time."""
        self._heads = {}

    def _of(self, labels: str, shown: Shown) -> list[tuple[str, int | None]]:
        """The beginnings of a queue's lines, and since when each age counts."""
        if shown.merged:
            return []
        name = self._source.family.name
        return [(f"{name}{{{each}}} ", since) for each, since in self._source.since(labels, shown.members[0].queue)]

    def _block(self, labels: str, shown: Shown) -> str:
        if shown.merged:
            rows = [row for seen in shown.members for row in self._source.rows(labels, seen)]
            return self._source.family.lines(self._source.merge.rows(rows))
        now_ms = shown.members[0].now_ms
        return "".join(
            [f"{head}{number(0.0 if since is None else age(since, now_ms))}\n" for head, since in self._heads[labels]]
        )
