"""From what the sources say to one value per setting: every text is checked, then the highest source wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.config.table import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qobserve.config.given import Given, Rank, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A checked value and where it came from."""

    value: object
    source: str
    rank: Rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The value of each setting that was given, by name; `problems` also covers those that lost.

    `wrong` names the settings that were given a value that is none: of these nothing more can be said.
    """

    values: Mapping[str, Value]
    problems: tuple[str, ...]
    wrong: frozenset[str] = frozenset()

    def get(self, name: str) -> object:
        """The value of a setting, its default when no source gives one."""
        return self.values[name].value if name in self.values else BY_NAME[name].default

    def given(self, *names: str) -> list[Value]:
        """The values among these names that a source gives."""
        return [self.values[name] for name in names if name in self.values]

    def sure(self, *names: str) -> bool:
        """Whether none of these was given a wrong value, so that what does not go together with them can be told."""
        return self.wrong.isdisjoint(names)


def resolve(*sources: Source) -> Resolved:
    """Check every text and let the highest source win; of the same source's repeated words, the last."""
    values: dict[str, Value] = {}
    problems: list[str] = []
    wrong = {name for source in sources for name in source.wrong}
    for given in (given for source in sources for given in source.givens):
        parsed, found = _parse(given)
        if found:
            problems += [f"{given.source}: {problem}" for problem in found]
            wrong.add(given.setting.name)
            continue
        value = Value(value=parsed, source=given.source, rank=given.rank)
        held = values.get(given.setting.name)
        if held is None or held.rank <= value.rank:
            values[given.setting.name] = value
    return Resolved(values=values, problems=tuple(problems), wrong=frozenset(wrong))


def _parse(given: Given) -> tuple[object, list[str]]:
    """The value, and what is wrong with each of its texts."""
    kind = given.setting.kind
    texts = given.texts if not kind.commas else tuple(part for text in given.texts for part in text.split(","))
    if kind.path and given.folder is not None:
        texts = tuple(str(given.folder / text) for text in texts)
    parsed: list[object] = []
    problems: list[str] = []
    for text in texts:
        try:
            parsed.append(kind.parse(text))
        except ValueError as exc:
            problems.append(str(exc))
    if problems:
        return None, problems
    return (tuple(parsed) if kind.many else parsed[-1]), []
