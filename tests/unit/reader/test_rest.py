"""What is asked in the second round trip because the windows of the first left it open."""

from __future__ import annotations

import pytest

from qobserve.model.keys import QueueId
from qobserve.model.reading import Answers, Rest
from qobserve.model.reply import Fault
from qobserve.reader.questions import ACTIVE_WINDOW, Windows
from qobserve.reader.rest import rest_commands

QUEUE = QueueId(b"bull", b"q")
NOTHING = Answers(*[None] * len(Answers._fields))
WINDOWS = Windows(jobs=3, schedulers=2)


def asked(answers: Answers, ended_score: bytes | None = None) -> dict[str, list[bytes]]:
    """The words of each command."""
    commands = rest_commands(QUEUE, answers, WINDOWS, ended_score)
    return {name: packed.split(b"\r\n")[2::2] for name, packed in commands.items()}


def test_a_window_that_begins_behind_schedulers_that_have_ended_does_not_tell_how_many_there_are() -> None:
    assert asked(NOTHING, b"17") == {
        "schedulers_length": [b"ZCARD", b"bull:q:repeat"],
        "schedulers_skipped": [b"ZCOUNT", b"bull:q:repeat", b"-inf", b"17"],
    }


def test_all_that_is_open_is_asked_by_the_names_of_the_answers() -> None:
    full = NOTHING._replace(
        paused_tail=[b"1"] * 3,
        active_tail=[b"1"] * ACTIVE_WINDOW,
        schedulers_first=[b"a", b"1", b"b", b"2"],
        limiter_ttl=1,
    )

    assert asked(full, b"0") == {
        "paused_length": [b"LLEN", b"bull:q:paused"],
        "active_length": [b"LLEN", b"bull:q:active"],
        "schedulers_length": [b"ZCARD", b"bull:q:repeat"],
        "limiter": [b"GET", b"bull:q:limiter"],
        "schedulers_skipped": [b"ZCOUNT", b"bull:q:repeat", b"-inf", b"0"],
    }
    assert tuple(asked(full, b"0")) == Rest._fields


@pytest.mark.parametrize(
    "answers",
    [
        NOTHING,
        Answers(*[Fault("WRONGTYPE ...")] * len(Answers._fields)),
        NOTHING._replace(
            paused_tail=[b"1"] * 2,
            active_tail=[b"1"] * (ACTIVE_WINDOW - 1),
            schedulers_first=[b"a", b"1"],
            limiter_ttl=-2,
        ),
    ],
    ids=["nothing", "faults", "windows that show all"],
)
def test_what_the_windows_tell_is_not_asked_again(answers: Answers) -> None:
    assert asked(answers) == {}


def test_a_limiter_that_never_ends_is_asked_for_as_it_may_be_no_counter() -> None:
    assert asked(NOTHING._replace(limiter_ttl=-1)) == {"limiter": [b"GET", b"bull:q:limiter"]}
