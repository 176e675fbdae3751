"""What a source says about a setting, before anything is checked."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from qobserve.config.setting import Setting


class Rank(IntEnum):
    """The precedence of a source: the greatest wins."""

    FILE = 1
    ENVIRONMENT = 2
    FLAG = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The texts that one source gives for one setting; `source` is as the person wrote it.

    `folder` is what relative paths are relative to; None is the current directory.
    """

    setting: Setting
    texts: tuple[str, ...]
    source: str
    rank: Rank
    folder: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Everything that one source says, and what is wrong with the way it says it.

    `wrong` names the settings that it means to set, but in a form that has no value.
    """

    givens: tuple[Given, ...] = ()
    problems: tuple[str, ...] = ()
    wrong: frozenset[str] = frozenset()


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest known one, or nothing."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f", did you mean {near[0]}?" if near else ""
