"""The table of the demo's queues, from one scrape: coloured for a terminal, plain for a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from qobserve.demo.page import QueueRow
from qobserve.demo.scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Mapping

SENTENCES_FROM: Final = 120
"""Columns of a terminal from which the sentences stand in the table itself."""
_WORDS_FROM = 160  # columns from which BullMQ's own words for the states fit above them as well
_STATES = {  # state: (short header, style of a count above zero)
    "waiting": ("wait", "yellow"),
    "prioritized": ("prio", "yellow"),
    "delayed": ("delay", "blue"),
    "waiting-children": ("child", "blue"),
    "active": ("act", "green"),
    "completed": ("done", "green"),
    "failed": ("fail", "red"),
}
_UNKNOWN = Text("-", style="dim")
_OLD_SECONDS = 30.0
_MINUTE = 60
_HOUR = 3600


def queue_table(rows: Mapping[str, QueueRow], *, width: int, plain: bool = False) -> Table:
    """One line per queue of the demo, in the scenarios' order; a queue that was not scraped yet shows as unknown."""
    sentences = width >= SENTENCES_FROM and not plain
    gap = 2 if sentences else 1
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="" if plain else "dim")
    table.add_column("queue", style="" if plain else "bold", no_wrap=True)
    for state, (short, _) in _STATES.items():
        table.add_column(state if width >= _WORDS_FROM else short, justify="right", no_wrap=True)
    for header in ("oldest", "workers"):
        table.add_column(header, justify="right", no_wrap=True)
    table.add_column("blocked by")
    if sentences:
        table.add_column("what it shows", style="dim")
    for scenario in SCENARIOS:
        cells = _cells(rows.get(scenario.queue, QueueRow()))
        table.add_row(scenario.queue, *cells, *((scenario.shows,) if sentences else ()))
    return table


def legend() -> Table:
    """The sentences on their own, for where the table has no room for them."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 2))
    for scenario in SCENARIOS:
        table.add_row(scenario.queue, scenario.shows)
    return table


def duration(seconds: float) -> str:
    """A span of time, short and never rounded up, as `850ms`, `3.2s`, `4m05s`, `2h10m`."""
    if seconds < 1:
        return f"{int(seconds * 1000)}ms"
    if seconds < 10:  # noqa: PLR2004 - one digit before the point leaves room for one behind it
        return f"{int(seconds * 10) / 10}s"
    whole = int(seconds)
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02}s"
    return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02}m"


def _cells(row: QueueRow) -> tuple[Text, ...]:
    counts = (_count(row.jobs.get(state), style) for state, (_, style) in _STATES.items())
    workers = _count(row.workers, "", zero="red")
    return (*counts, _age(row), workers, Text(", ".join(row.blocked), style="bold red"))


def _count(number: int | None, style: str, *, zero: str = "dim") -> Text:
    if number is None:
        return _UNKNOWN
    return Text(str(number), style=style if number else zero)


def _age(row: QueueRow) -> Text:
    seconds = row.oldest_waiting
    if seconds is None:
        return _UNKNOWN
    if not seconds:
        return Text("0s", style="dim")
    return Text(duration(seconds), style="bold red" if seconds > _OLD_SECONDS else "")
