"""Priority levels beyond the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.reading import Answers
from qobserve.model.reply import Fault
from qobserve.reader.levels import is_deep, probed, to_follow, window_levels

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

NOTHING = Answers(*[None] * len(Answers._fields))
WRONGTYPE = Fault("WRONGTYPE Operation against a key holding the wrong kind of value")
WINDOW: Reply = [b"1", b"4294967297", b"2", b"4294967298", b"3", b"12884901888"]


def answers(length: Reply, first: Reply) -> Answers:
    return NOTHING._replace(prioritized_length=length, prioritized_first=first)


@pytest.mark.parametrize(
    ("length", "first", "deep"),
    [
        (3, WINDOW, False),
        (4, WINDOW, True),
        (0, [], False),
        (7, [], False),  # gone between two commands
        (WRONGTYPE, WRONGTYPE, False),
        (None, None, False),
    ],
)
def test_a_set_is_deep_where_the_window_does_not_show_all_of_it(length: Reply, first: Reply, deep: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert is_deep(answers(length, first)) is deep


def test_levels_in_the_window() -> None:
    assert window_levels(answers(3, WINDOW)) == {1, 3}
    assert window_levels(NOTHING) == set()


def test_first_jobs_found_by_probes() -> None:
    replies: list[Reply] = [[b"9", b"21474836480"], [], [b"3", b"12884901888"], WRONGTYPE, None]

    assert probed(replies) == {5: b"9", 3: b"3"}


def test_levels_to_follow_are_the_most_urgent_64_in_order() -> None:
    assert to_follow([3, 1, 3, 2]) == (1, 2, 3)
    assert to_follow(range(1000, 0, -1)) == tuple(range(1, 65))
    assert to_follow([]) == ()
