"""From what the sources say to one value per setting: every text is checked, then the highest source wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.config.table import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from qobserve.config.given import Given, Rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A checked value and where it came from."""

    value: object
    source: str
    rank: Rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The value of each setting that was given, by name; `problems` also covers those that lost."""

    values: Mapping[str, Value]
    problems: tuple[str, ...]

    def get(self, name: str) -> object:
        """The value of a setting, its default when no source gives one."""
        return self.values[name].value if name in self.values else BY_NAME[name].default

    def given(self, *names: str) -> list[Value]:
        """The values among these names that a source gives."""
        return [self.values[name] for name in names if name in self.values]


def resolve(givens: Iterable[Given]) -> Resolved:
    """Check every text and let the highest source win; of the same source's repeated words, the last."""
    values: dict[str, Value] = {}
    problems: list[str] = []
    for given in givens:
        try:
            value = Value(value=_parse(given), source=given.source, rank=given.rank)
        except ValueError as exc:
            problems.append(f"{given.source}: {exc}")
            continue
        held = values.get(given.setting.name)
        if held is None or held.rank <= value.rank:
            values[given.setting.name] = value
    return Resolved(values=values, problems=tuple(problems))


def _parse(given: Given) -> object:
    kind = given.setting.kind
    texts = given.texts
    if kind.path and given.folder is not None:
        texts = tuple(str(given.folder / text) for text in texts)
    parsed = [kind.parse(text) for text in texts]
    return tuple(parsed) if kind.many else parsed[-1]
