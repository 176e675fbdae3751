"""The standard OTEL_* variables: which one counts, and what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from qobserve.config.shown import quoted
from qobserve.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")

_OTLP = "OTEL_EXPORTER_OTLP_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A text and the variable or setting that it stands in."""

    source: str
    text: str


class Variables:
    """The variables of one environment, and all that was found wrong on the way; an empty one counts as not set."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[str] = []

    def get(self, name: str) -> Named | None:
        """One variable."""
        text = self._environ.get(name, "").strip()
        return Named(source=name, text=text) if text else None

    def otlp(self, what: str) -> Named | None:
        """`OTEL_EXPORTER_OTLP_TRACES_…`, else `OTEL_EXPORTER_OTLP_…`."""
        return self.get(f"{_OTLP}TRACES_{what}") or self.get(f"{_OTLP}{what}")

    def is_true(self, name: str) -> bool:
        """Whether it says `true`; the specification takes anything else for false."""
        found = self.get(name)
        return found is not None and found.text.lower() == "true"

    def attempt(self, source: str, make: Callable[[], T], otherwise: T) -> T:
        """What `make` returns; where it raises ValueError, the sentence is kept and `otherwise` stands in."""
        try:
            return make()
        except ValueError as exc:
            self.problems.append(f"{source}: {exc}")
            return otherwise

    def choice(self, found: Named | None, allowed: tuple[str, ...], default: str) -> str:
        """One of a few words."""
        if found is None:
            return default
        word = found.text.lower()
        if word in allowed:
            return word
        others = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        self.problems.append(f"{found.source}: {quoted(found.text)} is not supported, use {others}")
        return default

    def finish(self) -> None:
        """Raise SettingsError if anything was wrong."""
        if self.problems:
            raise SettingsError(self.problems)
