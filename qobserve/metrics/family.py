"""A metric family, and what it has to say in one scrape, in forms that are fast to print."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from prometheus_client.utils import floatToGoString

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qobserve.model.keys import QueueId

Row: TypeAlias = tuple[str, float]
"""A sample: its labels as they are printed (sorted by name, without braces), and its value."""

OF_QUEUE = ("prefix", "queue")

_PLAIN_BELOW = 1_000_000
"""From here on Go, and so Prometheus, prints an exponent."""


@dataclass(frozen=True, slots=True)
class Family:
    """What a family is called and means; declared beside the collector that fills it.

    Attributes:
        name: The full name; a counter's ends in `_total`.
        type: Prometheus's word.
        help: One sentence, with unit and edge cases.
        labels: The names of its labels; a histogram's `le` is not among them.
        optional: The names of labels that it has by some settings only.
    """

    name: str
    type: Literal["gauge", "counter", "histogram"]
    help: str
    labels: tuple[str, ...] = OF_QUEUE
    optional: tuple[str, ...] = ()

    def samples(self, rows: Iterable[Row]) -> Samples:
        """The family with these rows."""
        return Samples(self, (self.lines(rows),))

    def lines(self, rows: Iterable[Row]) -> str:
        """Rows as they are printed, one a line; the formats that are served do not differ in them."""
        name = self.name
        return "".join(
            [
                f"{name}{{{labels}}} {number(value)}\n" if labels else f"{name} {number(value)}\n"
                for labels, value in rows
            ]
        )


@dataclass(frozen=True, slots=True)
class Samples:
    """A family and what it has to say in one scrape: blocks of printed lines, some of them empty.

    `exemplified` are the same blocks with exemplars, where any has one; only OpenMetrics knows them.
    """

    family: Family
    blocks: tuple[str, ...]
    exemplified: tuple[str, ...] | None = None


class Lines(NamedTuple):
    """Printed lines without and with exemplars."""

    plain: str
    exemplified: str


def number(value: float) -> str:
    """A value as prometheus_client prints it, which is as Go does."""
    if 0 <= value < _PLAIN_BELOW:  # most values, for which theirs takes four times as long
        return repr(float(value))
    return str(floatToGoString(value))  # type: ignore[no-untyped-call]  # untyped in prometheus_client


def label(name: str, value: str) -> str:
    """One label as it is printed."""
    escaped = value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return f'{name}="{escaped}"'


def labels(**values: str) -> str:
    """Several labels as they are printed."""
    return ",".join(label(name, values[name]) for name in sorted(values))


@lru_cache(maxsize=20_000)
def queue_labels(queue: QueueId) -> str:
    """A queue's two labels; others whose names sort behind `queue` may follow after a comma."""
    return labels(prefix=queue.prefix, queue=queue.name)
