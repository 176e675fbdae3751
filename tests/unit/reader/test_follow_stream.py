"""One stream: where following it begins, what of it counts, and when it has begun anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.keys import QueueId
from qobserve.reader.checkpoint import SavedStream
from qobserve.reader.follow_ledger import Found
from qobserve.reader.follow_place import Place
from qobserve.reader.follow_stream import Beginning, Stream, Telling

if TYPE_CHECKING:
    from qobserve.model.reply import Reply
    from qobserve.reader.follow_place import EntryId

QUEUE = QueueId(b"bull", b"q")
START_MS = 100
LAST = 2**64 - 1


def entries(*moments: int) -> list[Reply]:
    return [[b"%d-0" % ms, [b"event", b"added", b"jobId", b"%d" % ms, b"name", b"j"]] for ms in moments]


def begun(place: Place, *, first_look: bool = True, past: bool = False) -> Stream:
    stream = Stream(QUEUE)
    stream.begin(place, Beginning(start_ms=START_MS, first_look=first_look, past=past), 1.0)
    return stream


@pytest.mark.parametrize(
    ("place", "first_look", "at", "added"),
    [
        pytest.param(Place(), True, (0, 0), 0, id="no stream yet"),
        pytest.param(Place(last=(90, 3), first=(10, 0), length=5, added=9), True, (90, 3), 9, id="all before us"),
        pytest.param(Place(last=(90, 3), first=(10, 0), length=5, added=9), False, (90, 3), 9, id="found late, idle"),
        pytest.param(Place(last=(120, 0), first=(10, 0), length=5, added=9), True, (99, LAST), 9, id="reaches back"),
        pytest.param(Place(last=(120, 0), first=(10, 0), length=5, added=9), False, (99, LAST), 9, id="found late"),
        pytest.param(Place(last=(120, 0), first=(110, 0), length=5, added=9), True, (120, 0), 9, id="trimmed, old"),
        pytest.param(Place(last=(120, 0), first=(110, 0), length=5, added=9), False, (0, 0), 0, id="trimmed, new"),
        pytest.param(Place(last=(120, 0), first=(110, 0), length=9, added=9), True, (0, 0), 0, id="born since"),
    ],
)
def test_where_following_begins(place: Place, first_look: bool, at: EntryId, added: int) -> None:  # noqa: FBT001 - a parameter of the table
    stream = begun(place, first_look=first_look)
    assert (stream.at, stream.ledger.base.added) == (at, added)
    reading = begun(place, first_look=first_look, past=True)
    assert (reading.at, reading.live_from, reading.ledger.base.added) == ((0, 0), at, added)


def test_the_past_is_told_as_past() -> None:
    stream = begun(Place(last=(90, 0), first=(80, 0), length=2, added=2), past=True)
    batches, _ = stream.take(entries(80, 90, 101), 2.0, asked=10)
    assert [(batch.telling, [event.ms for event in batch.events]) for batch in batches] == [
        (Telling.PAST, [80, 90]),
        (Telling.LIVE, [101]),
    ]
    assert stream.cursor == b"101-0"
    assert not stream.more


def test_a_second_life_replays_what_the_first_told() -> None:
    saved = begun(Place(last=(90, 0), first=(80, 0), length=2, added=2)).saved()
    assert saved == SavedStream(queue=QUEUE, cursor=(90, 0), added=2, totals={"completed": 0, "failed": 0, "added": 0})
    stream = Stream(QUEUE)
    stream.resume(saved, past=True)
    batches, _ = stream.take(entries(80, 90, 95), 2.0, asked=3)
    assert [(batch.telling, len(batch.events)) for batch in batches] == [(Telling.REPLAYED, 2), (Telling.LIVE, 1)]
    assert stream.more
    assert stream.ledger.added == 3
    stream.resume(saved, past=False)
    assert stream.at == (90, 0)


@pytest.mark.parametrize(
    ("place", "anew", "at", "live"),
    [
        pytest.param(Place(), True, (0, 0), (0, 0), id="deleted"),
        pytest.param(Place(last=(50, 0), first=(45, 0), length=3, added=3), True, (0, 0), (0, 0), id="begun anew"),
        pytest.param(Place(last=(88, 0), first=(80, 0), length=8, added=8), False, (88, 0), (0, 0), id="rolled back"),
        pytest.param(Place(last=(88, 0), first=(85, 0), length=4, added=8), False, (88, 0), (0, 0), id="back, trimmed"),
        pytest.param(Place(last=(90, 0), first=(80, 0), length=9, added=9), False, (90, 0), (90, 0), id="as it was"),
    ],
)
def test_a_stream_that_ends_before_its_cursor(place: Place, anew: bool, at: EntryId, live: EntryId) -> None:  # noqa: FBT001 - as above
    stream = begun(Place(last=(90, 0), first=(80, 0), length=9, added=9))
    assert stream.look(place, 3.0) == (Found(), anew)
    assert (stream.at, stream.live_from) == (at, live)


def test_a_young_stream_that_is_deleted_begins_anew() -> None:
    stream = begun(Place())
    stream.take(entries(101), 2.0, asked=8)
    assert stream.look(Place(), 3.0) == (Found(), True)
    assert stream.at == (0, 0)


def test_entries_that_are_no_events_move_the_cursor() -> None:
    stream = begun(Place())
    odd: list[Reply] = [[b"5-0", [b"other", b"x"]], [b"6-0", None], [b"7-0", [b"event"]]]
    batches, found = stream.take(odd, 2.0, asked=8)
    assert (batches, found, stream.cursor) == ([], Found(), b"7-0")
    stream.look(Place(last=(7, 0), first=(5, 0), length=3, added=4), 3.0)
    assert stream.ledger.base.added == 4


def test_when_a_stream_is_looked_at_again() -> None:
    stream = begun(Place(last=(90, 0), first=(80, 0), length=9, added=9))
    assert 31.0 <= stream.check_due <= 61.0
    stream.take(entries(101), 2.0, asked=8)
    assert stream.check_due == 7.0
    stream.take(entries(*range(102, 1_200)), 3.0, asked=8)
    assert stream.check_due == 4.0
    stream.look(Place(last=(1_199, 0), added=1_108, length=1_108, size=80 << 20), 4.0)
    assert stream.check_due == 84.0
    stream.take(entries(1_200), 5.0, asked=8)
    assert stream.check_due == 84.0


def test_trouble_is_new_once() -> None:
    stream = begun(Place())
    assert stream.troubled("WRONGTYPE", 5.0)
    assert not stream.troubled("WRONGTYPE", 5.0)
    assert stream.due(1.0) == 10.0
    assert stream.stands_apart(1.0, already=False)
    assert stream.mended()
    assert not stream.mended()
    assert not stream.stands_apart(1.0, already=False)


def test_a_stream_is_behind_since_it_had_more_than_was_read() -> None:
    stream = begun(Place())
    for now, moments, asked, since in (
        (2.0, (1, 2), 2, 2.0),
        (3.0, (3, 4), 2, 2.0),
        (4.0, (5,), 2, 2.0),
        (9.0, (6,), 1, 9.0),
    ):
        stream.take(entries(*moments), now, asked=asked)
        assert stream.behind_since == since
    assert stream.more
