"""Raw answers: what counts as a number, what as strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.reply import Fault, natural, strings, whole

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

WRONGTYPE = Fault("WRONGTYPE Operation against a key holding the wrong kind of value")


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        (0, 0),
        (7, 7),
        (b"13", 13),
        (b"-2", -2),
        (b"9223372036854775807", 2**63 - 1),
        (b"-9223372036854775808", -(2**63)),
        (b"9" * 400, None),
        (b"1.5", None),
        (b"", None),
        (b"seven", None),
        (b"\xff", None),
        ([b"1"], None),
        (WRONGTYPE, None),
        (None, None),
    ],
)
def test_a_whole_number_or_nothing(reply: Reply, number: int | None) -> None:
    assert whole(reply) == number


@pytest.mark.parametrize(
    ("reply", "number"),
    [(b"0", 0), (3, 3), (-1, None), (b"-1", None), (b"junk", None), (None, None), (WRONGTYPE, None)],
)
def test_there_are_never_fewer_than_none(reply: Reply, number: int | None) -> None:
    assert natural(reply) == number


@pytest.mark.parametrize(
    ("reply", "texts"),
    [
        ([b"a", b"", b"b"], [b"a", b"", b"b"]),
        ([b"a", None, 3, WRONGTYPE, [b"nested"]], [b"a"]),
        ([], []),
        (b"a", []),
        (None, []),
        (WRONGTYPE, []),
    ],
)
def test_the_strings_of_a_list_or_none(reply: Reply, texts: list[bytes]) -> None:
    assert strings(reply) == texts


@pytest.mark.parametrize(
    ("message", "code"), [("NOPERM this user has no permissions", "NOPERM"), ("ERR", "ERR"), ("", "")]
)
def test_a_faults_code_is_its_first_word(message: str, code: str) -> None:
    assert Fault(message).code == code
