"""Which jobs could be the oldest: by their place in the lists, whatever kind of jobs is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.reading import Answers
from qobserve.model.reply import Fault
from qobserve.reader.budget import Budget
from qobserve.reader.candidates import active_candidates, leveled, prioritized_candidates, waiting_candidates
from qobserve.reader.questions import Windows

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

NOTHING = Answers(*[None] * len(Answers._fields))
WRONGTYPE = Fault("WRONGTYPE Operation against a key holding the wrong kind of value")
LEVEL = 2**32


def budget(hashes: int, active: int = 16) -> Budget:
    return Budget(windows=Windows(jobs=100, schedulers=20), hashes=hashes, payloads=1, active=active, events_kept=20)


def waiting(length: Reply, tail: Reply, head: Reply, hashes: int = 100) -> list[bytes]:
    in_wait = NOTHING._replace(wait_length=length, wait_tail=tail, wait_head=head)
    return waiting_candidates(in_wait, budget(hashes))


@pytest.mark.parametrize(
    ("length", "tail", "head", "candidates"),
    [
        pytest.param(0, [], None, [], id="empty"),
        pytest.param(1, [b"1"], b"1", [b"1"], id="one job"),
        pytest.param(3, [b"3", b"2", b"1"], b"3", [b"1", b"3", b"2"], id="first in, first out"),
        pytest.param(9, [b"3", b"2", b"1"], b"9", [b"1", b"9", b"3", b"2"], id="longer than the window"),
        pytest.param(9, [b"6", b"2", b"7", b"8"], b"9", [b"8", b"9", b"2", b"6", b"7"], id="last in, first out"),
        pytest.param(3, [b"b", b"a", b"c"], b"b", [b"c", b"b", b"a"], id="ids made by hand"),
        pytest.param(
            9,
            [b"10", b"30", b"9", b"20", b"40"],
            b"99",
            [b"40", b"99", b"9", b"10", b"20", b"30"],
            id="the lowest number is not the first in the alphabet",
        ),
        pytest.param(
            4,
            [b"7", b"5", b"%020d" % 1, b"a"],
            b"7",
            [b"a", b"5", b"7", b"%020d" % 1],
            id="more digits than Redis counts with",
        ),
        pytest.param(2, [b"1", b"0:1796035863156"], b"1", [b"1"], id="fake id at the tail"),
        pytest.param(9, [b"2", b"1"], b"0:0", [b"1", b"2"], id="fake id at the head"),
        pytest.param(1, [b"0:0"], b"0:0", [], id="fake id alone"),
        pytest.param(WRONGTYPE, WRONGTYPE, WRONGTYPE, [], id="no list"),
        pytest.param(None, [b"1", None, 7], None, [b"1"], id="junk among the ids"),
    ],
)
def test_the_ends_of_a_list_and_its_lowest_id_come_first(
    length: Reply, tail: Reply, head: Reply, candidates: list[bytes]
) -> None:
    assert waiting(length, tail, head) == candidates


@pytest.mark.parametrize("hashes", [1, 2, 3, 4, 5])
def test_the_likeliest_are_kept_where_few_may_be_read(hashes: int) -> None:
    assert waiting(9, [b"6", b"2", b"7", b"8"], b"9", hashes) == [b"8", b"9", b"2", b"6", b"7"][:hashes]


def test_both_lists_have_a_share_of_their_own() -> None:
    both = NOTHING._replace(
        wait_length=2,
        wait_tail=[b"2", b"1"],
        wait_head=b"2",
        paused_tail=[b"4", b"3"],
    )

    assert waiting_candidates(both, budget(1)) == [b"1", b"3"]


def scored(*jobs: tuple[str, int]) -> Reply:
    """A reply WITHSCORES of jobs and priorities, in their order."""
    pairs = [(job.encode(), b"%d" % (priority * LEVEL + number)) for number, (job, priority) in enumerate(jobs)]
    return [part for pair in pairs for part in pair]


WINDOW = scored(("a", 1), ("b", 1), ("c", 1), ("d", 2), ("e", 2), ("f", 7))


@pytest.mark.parametrize(
    ("hashes", "heads", "candidates"),
    [
        (100, [], [b"f", b"d", b"a", b"b", b"c", b"e"]),
        (100, [b"x", b"a"], [b"f", b"d", b"a", b"x", b"b", b"c", b"e"]),
        (4, [], [b"f", b"d", b"a", b"b"]),
        (1, [], [b"f", b"d", b"a"]),  # the first of each level is read whatever the budget: any may be the oldest
        (1, [b"x", b"y"], [b"f", b"d", b"a", b"x", b"y"]),
    ],
)
def test_the_first_job_of_each_level_comes_first(hashes: int, heads: list[bytes], candidates: list[bytes]) -> None:
    assert prioritized_candidates(NOTHING._replace(prioritized_first=WINDOW), heads, budget(hashes)) == candidates


def test_members_and_their_levels() -> None:
    assert leveled([b"7", b"12884901890", b"8", b"nan", b"9", b"4294967297"]) == [(b"7", 3), (b"9", 1)]
    assert leveled([b"7"]) == []
    assert leveled(WRONGTYPE) == []
    assert leveled(None) == []


@pytest.mark.parametrize(
    ("tail", "active", "candidates"),
    [
        ([b"3", b"2", b"1"], 16, [b"1", b"2", b"3"]),
        ([b"3", b"2", b"1"], 2, [b"1", b"2"]),
        ([b"2", b"0:1796035863156", b"1"], 2, [b"1", b"2"]),
        ([], 16, []),
        (WRONGTYPE, 16, []),
    ],
)
def test_active_jobs_from_the_end_at_which_they_started_first(
    tail: Reply, active: int, candidates: list[bytes]
) -> None:
    assert active_candidates(NOTHING._replace(active_tail=tail), budget(1, active)) == candidates
