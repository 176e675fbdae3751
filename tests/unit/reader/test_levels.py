"""Priority levels beyond the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.keys import QueueId
from qobserve.model.reading import Answers
from qobserve.model.reply import Fault
from qobserve.reader.levels import head_probes, is_deep, probed, search_commands, to_follow, window_levels

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

QUEUE = QueueId(b"bull", b"q")
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


def first_of(floor: int) -> list[bytes]:
    """The question for the first job from a score on."""
    return [b"ZRANGEBYSCORE", b"bull:q:prioritized", b"%d" % floor, b"+inf", b"WITHSCORES", b"LIMIT", b"0", b"1"]


def at(place: int) -> list[bytes]:
    """The question for the job at a place."""
    return [b"ZRANGE", b"bull:q:prioritized", b"%d" % place, b"%d" % place, b"WITHSCORES"]


def words(commands: list[bytes]) -> list[list[bytes]]:
    return [command.split(b"\r\n")[2::2] for command in commands]


def test_each_known_level_is_asked_for_its_own_first_job() -> None:
    assert words(head_probes(QUEUE, (0, 1, 3))) == [first_of(0), first_of(2**32), first_of(3 * 2**32)]
    assert head_probes(QUEUE, ()) == []


def test_unknown_levels_are_searched_for_behind_known_ones_and_all_over_the_set() -> None:
    assert words(search_commands(QUEUE, (1, 3), 1600)) == [
        *(first_of(2 * 2**32), first_of(4 * 2**32)),
        *(at(place) for place in range(100, 1600, 100)),
        at(1599),
    ]


def test_no_place_of_a_small_set_is_asked_twice_and_none_beyond_it() -> None:
    assert words(search_commands(QUEUE, (), 3)) == [at(0), at(1), at(2)]
