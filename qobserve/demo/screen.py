"""Shows the queues of the demo: a live table on a terminal, plain tables one after the other anywhere else."""

from __future__ import annotations

import io
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from qobserve.demo.table import SENTENCES_FROM, duration, legend, queue_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from qobserve.demo.page import Page

_PLAIN_WIDTH = 100


class Screen(Protocol):
    """Where the demo shows itself; `every` is how many seconds suit it between two tables."""

    every: float

    def starting(self, part: str) -> None:
        """A part of the demo is on its way."""

    def ready(self, url: str, note: str) -> None:
        """Every part is up, /metrics is at `url`; `note` is a sentence to show as well, or empty."""

    def show(self, page: Page, seconds: float) -> None:
        """Show the queues as `page` has them, `seconds` after the first table."""


@contextmanager
def screen() -> Iterator[Screen]:
    """The screen that suits standard output; afterwards a terminal is as it was, with the last table still on it."""
    console = Console(file=sys.stdout)
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        yield _Plain()
        return
    # Nothing else writes to the terminal, so nothing needs to be redirected.
    with Live(
        console=console, auto_refresh=False, vertical_overflow="crop", redirect_stdout=False, redirect_stderr=False
    ) as live:
        yield _Terminal(console, live)


class _Terminal:
    every = 1.0

    def __init__(self, console: Console, live: Live) -> None:
        self._console = console
        self._live = live
        self._url = ""

    def starting(self, part: str) -> None:
        self._live.update(Text(f"starting {part} ...", style="dim"), refresh=True)

    def ready(self, url: str, note: str) -> None:
        self._url = url
        if self._console.width < SENTENCES_FROM:
            self._console.print(legend(), Text(), style="dim")
        if note:
            self._console.print(Text(note, style="yellow"))

    def show(self, page: Page, seconds: float) -> None:
        title = (" qobserve demo ", "bold reverse")
        head = Text.assemble(title, "  ", (self._url, f"bold cyan link {self._url}"), f"  {duration(seconds)}\n")
        foot = Text(f"\n{_foot(page)}", style="red" if page.trouble else "dim")
        self._live.update(Group(head, queue_table(page.rows, width=self._console.width), foot), refresh=True)


class _Plain:
    """Lines without control codes; the width is fixed because a file has none."""

    every = 5.0

    def starting(self, part: str) -> None:
        """Say nothing: the first line that a script sees is the URL, and it answers."""

    def ready(self, url: str, note: str) -> None:
        self._write(f"qobserve demo: {url}\n" + (f"{note}\n" if note else ""), legend())

    def show(self, page: Page, seconds: float) -> None:
        table = queue_table(page.rows, width=_PLAIN_WIDTH, plain=True)
        self._write(f"\nafter {seconds:.0f} s: {_foot(page)}\n", table)

    def _write(self, text: str, table: Table) -> None:
        drawn = io.StringIO()
        console = Console(file=drawn, width=_PLAIN_WIDTH, force_terminal=False, color_system=None)
        console.print(table)
        lines = [line.rstrip() for line in drawn.getvalue().splitlines()]
        sys.stdout.write("\n".join((text, *lines, "")))
        sys.stdout.flush()


def _foot(page: Page) -> str:
    if page.trouble:
        return page.trouble
    took = "" if page.seconds is None else f" in {duration(page.seconds)}"
    return f"{len(page.rows)} queues read{took}; Ctrl-C ends everything and leaves nothing behind"
