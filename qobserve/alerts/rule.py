"""What a rule is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


class Severity(StrEnum):
    """Who is told, and when."""

    CRITICAL = "critical"
    """Users feel it, or nobody would know if they did: it pages."""
    WARNING = "warning"
    """A cause that will be felt: a ticket."""
    INFO = "info"
    """Worth knowing."""


class Board(StrEnum):
    """The dashboard that shows what an alert is about: the uid that Grafana knows it by."""

    QUEUE = "qobserve-queue"
    """Its alerts carry the labels `prefix` and `queue`."""
    OVERVIEW = "qobserve-overview"
    EXPORTER = "qobserve-exporter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A series of its own; `name` has colons, as Prometheus's recorded series do."""

    name: str
    expr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something to tell somebody.

    Attributes:
        name: Also the name of its runbook.
        expr: PromQL; each series that it finds is an alert, its value the one in the texts.
        hold: Seconds for which it must find the series before it fires.
        summary: One line, with Prometheus's templates; `text.OF_QUEUE` names the queue.
        description: What is so, with the value made readable, and what that means.
    """

    name: str
    severity: Severity
    board: Board
    expr: str
    hold: float = 0
    summary: str
    description: str


Rule: TypeAlias = Record | Alert


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rules that are evaluated one after the other; `interval` (seconds) is Prometheus's own where it is None."""

    name: str
    rules: tuple[Rule, ...]
    interval: float | None = None

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """Those that tell somebody."""
        return tuple(rule for rule in self.rules if isinstance(rule, Alert))
