"""Where a stream stands, from what Redis answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hiredis
import pytest

from qobserve.model.keys import QueueId
from qobserve.model.reply import Fault
from qobserve.reader.follow_place import REPLIES, Place, id_bytes, place_commands, place_of

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

FIRST: list[Reply] = [b"7-1", [b"event", b"added"]]
LAST: list[Reply] = [b"9-2", [b"event", b"completed", b"returnvalue", b"x" * 100]]
STREAM: list[Reply] = [
    b"length", 3, b"last-generated-id", b"9-2", b"entries-added", 12, b"first-entry", FIRST, b"last-entry", LAST,
]  # fmt: skip
MISSING = Fault("ERR no such key")


def replies(stream: Reply, *, before: list[Reply], after: list[Reply], limit: Reply = b"5000") -> list[Reply]:
    return [*before, stream, *after, limit]


def test_as_many_replies_come_as_are_asked_for() -> None:
    reader = hiredis.Reader()
    reader.feed(place_commands(QueueId(b"bull", b"q")))
    asked = [reader.gets() for _ in range(REPLIES)]
    assert [command[0] for command in asked] == [
        b"HGET", b"HGET", b"GET", b"XINFO", b"HGET", b"HGET", b"GET", b"HGET",
    ]  # fmt: skip
    assert reader.gets() is False


def test_a_place_is_of_one_moment() -> None:
    place = place_of(replies(STREAM, before=[b"5", None, b"20"], after=[b"5", None, b"21"]))
    assert place == Place(
        last=(9, 2), first=(7, 1), length=3, added=12, completed=5, failed=0, attempts=None, limit=5000, size=201
    )


def test_a_stream_that_does_not_exist_is_nowhere() -> None:
    assert place_of(replies(MISSING, before=[None] * 3, after=[None] * 3, limit=None)) == Place()


def test_before_redis_7_nothing_tells_how_many_were_written() -> None:
    old = [item for item in STREAM if item not in (b"entries-added", 12)]
    place = place_of(replies(old, before=[None] * 3, after=[None] * 3))
    assert isinstance(place, Place)
    assert (place.added, place.length) == (None, 3)


@pytest.mark.parametrize("fault", [Fault("WRONGTYPE no"), Fault("NOPERM no")])
def test_a_stream_that_cannot_be_looked_at_is_told(fault: Fault) -> None:
    assert place_of(replies(fault, before=[None] * 3, after=[None] * 3)) == fault


def test_a_total_that_cannot_be_read_is_left_open() -> None:
    wrong = Fault("WRONGTYPE no")
    place = place_of(replies(STREAM, before=[wrong] * 3, after=[wrong] * 3, limit=wrong))
    assert isinstance(place, Place)
    assert (place.completed, place.failed, place.attempts, place.limit) == (None, None, None, 10_000)


def test_ids_as_redis_writes_them() -> None:
    assert id_bytes((1_796_035_863_000, 12)) == b"1796035863000-12"
