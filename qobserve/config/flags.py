"""Flags as a source of settings: a command line taken apart without stopping at the first mistake."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from qobserve.config.given import Given, Rank, Source, did_you_mean
from qobserve.config.shown import quoted_address
from qobserve.config.table import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.config.setting import Setting


class _Splitter:
    """Walks over the words of a command line once."""

    def __init__(self, words: Sequence[str], settings: Sequence[Setting], elsewhere: Sequence[Setting]) -> None:
        self._words = list(words)
        self._known_as = {setting.name: setting for setting in settings}
        self._elsewhere = {x.flag for x in elsewhere} | {f"--no-{x.name}" for x in elsewhere if x.kind.flag}
        self._elsewhere -= {x.flag for x in settings} | {f"--no-{x.name}" for x in settings if x.kind.flag}
        self._spellings = [s.flag for s in settings if not s.secret]
        self._spellings += [f"--no-{s.name}" for s in settings if s.kind.flag]
        self._wrong: set[str] = set()
        self._texts: dict[tuple[str, str], list[str]] = {}
        self._problems: list[str] = []

    def source(self) -> Source:
        while self._words:
            word = self._words.pop(0)
            if word.startswith("--") and word != "--":
                self._flag(*word.partition("="))
            else:
                self._problems.append(
                    f"{quoted_address(word)}: arguments are not expected, only flags that begin with --"
                )
        return Source(givens=tuple(self._givens()), problems=tuple(self._problems), wrong=frozenset(self._wrong))

    def _givens(self) -> list[Given]:
        return [
            Given(setting=self._known_as[name], texts=tuple(texts), source=spelled, rank=Rank.FLAG)
            for (name, spelled), texts in self._texts.items()
        ]

    def _flag(self, spelled: str, equals: str, text: str) -> None:
        name = spelled.removeprefix("--").replace("_", "-")
        setting = self._known_as.get(name)
        positive = self._known_as.get(name.removeprefix("no-"))
        if setting is not None:
            self._known(setting, spelled, text if equals else None)
        elif positive is not None and positive.kind.flag:
            self._negated(positive, spelled, with_value=bool(equals))
        else:
            if not equals:
                self._skip_value()
            self._problems.append(self._unknown(spelled))

    def _unknown(self, spelled: str) -> str:
        if spelled.replace("_", "-") in self._elsewhere:
            return f"{spelled}: this command has no such flag, it is one of qobserve exporter"
        shown = spelled if re.fullmatch(r"--[\w.-]+", spelled) else quoted_address(spelled)
        return f"{shown}: there is no such flag{did_you_mean(spelled, self._spellings)}"

    def _known(self, setting: Setting, spelled: str, text: str | None) -> None:
        if setting.kind.flag:
            self._keep(setting, spelled, "true" if text is None else text)
            return
        if text is None and (not self._words or self._words[0].startswith("--")):
            self._wrong.add(setting.name)
            self._problems.append(f"{spelled}: a value is missing, write {spelled} {setting.kind.metavar}")
            return
        value = self._words.pop(0) if text is None else text
        if setting.secret:
            self._problems.append(
                f"{spelled}: there is no such flag, as every user of the machine could read the value; "
                f"use {setting.variable} or {setting.flag}-file"
            )
            return
        self._keep(setting, spelled, value)

    def _negated(self, setting: Setting, spelled: str, *, with_value: bool) -> None:
        if with_value:
            self._problems.append(f"{spelled}: it takes no value")
        self._keep(setting, spelled, "false")

    def _keep(self, setting: Setting, spelled: str, text: str) -> None:
        self._texts.setdefault((setting.name, spelled), []).append(text)

    def _skip_value(self) -> None:
        # The word after an unknown flag is most likely its value: naming it as a second mistake would mislead.
        if self._words and not self._words[0].startswith("-"):
            self._words.pop(0)


def read_flags(
    words: Sequence[str], settings: Sequence[Setting] = SETTINGS, elsewhere: Sequence[Setting] = ()
) -> Source:
    """What the words of a command line say about these settings, with every mistake in their form.

    Flags of the settings `elsewhere` are mistakes as well, but known ones: they are the exporter's.
    """
    return _Splitter(words, settings, elsewhere).source()
