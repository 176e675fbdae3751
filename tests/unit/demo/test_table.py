"""How the demo draws its queues."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from qobserve.demo.page import QueueRow
from qobserve.demo.scenarios import SCENARIOS
from qobserve.demo.table import SENTENCES_FROM, duration, legend, queue_table

COUNTS = {
    "waiting": 12,
    "prioritized": 0,
    "delayed": 3,
    "waiting-children": 4,
    "active": 1,
    "completed": 50,
    "failed": 6,
}
ROWS = {
    "emails": QueueRow(jobs=COUNTS, ages={"waiting": 65.0, "prioritized": 0.0}, workers=1),
    "exports": QueueRow(jobs={"waiting": 12}, ages={"waiting": 0.25}, workers=0, blocked=("paused", "no_workers")),
}
PLAIN = """\
queue       wait prio delay child act done fail oldest workers blocked by
emails        12    0     3     4   1   50    6  1m05s       1
payments       -    -     -     -   -    -    -      -       -
reminders      -    -     -     -   -    -    -      -       -
support        -    -     -     -   -    -    -      -       -
orders         -    -     -     -   -    -    -      -       -
order-steps    -    -     -     -   -    -    -      -       -
reports        -    -     -     -   -    -    -      -       -
newsletter     -    -     -     -   -    -    -      -       -
thumbnails     -    -     -     -   -    -    -      -       -
exports       12    -     -     -   -    -    -  250ms       0 paused, no_workers
"""


def drawn(table: object, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return "".join(f"{line.rstrip()}\n" for line in console.file.getvalue().splitlines())


def test_a_plain_table_shows_what_the_page_says_and_a_dash_for_what_it_does_not() -> None:
    assert drawn(queue_table(ROWS, width=100, plain=True), 100) == PLAIN


@pytest.mark.parametrize("width", [80, 100, SENTENCES_FROM, 160, 200])
def test_every_queue_has_one_line_in_terminals_of_usual_widths(width: int) -> None:
    rows = {
        scenario.queue: QueueRow(jobs=COUNTS, ages={"waiting": 65.0}, blocked=("no_workers",)) for scenario in SCENARIOS
    }
    lines = drawn(queue_table(rows, width=width), width).splitlines()
    assert [line.split()[0] for line in lines] == ["queue", *rows]
    assert not any("…" in line for line in lines)


def test_the_sentences_are_in_a_wide_table_and_in_the_legend() -> None:
    wide = drawn(queue_table({}, width=SENTENCES_FROM), SENTENCES_FROM)
    narrow = drawn(queue_table({}, width=SENTENCES_FROM - 1), SENTENCES_FROM - 1)
    below = drawn(legend(), 80)
    for scenario in SCENARIOS:
        assert scenario.shows in wide
        assert scenario.shows not in narrow
        assert scenario.shows in below


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0ms"),
        (0.85, "850ms"),
        (3.24, "3.2s"),
        (9.99, "9.9s"),
        (59.9, "59s"),
        (60, "1m00s"),
        (3599, "59m59s"),
        (3600, "1h00m"),
        (360_000, "100h00m"),
    ],
)
def test_a_duration_is_short_and_never_rounded_up(seconds: float, text: str) -> None:
    assert duration(seconds) == text
