"""The event stream read in pieces: what is asked, what is remembered, and which event speaks of which wait."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from qobserve.model.job import JobTimes
from qobserve.model.keys import QueueId
from qobserve.model.reply import Fault
from qobserve.reader.memory import QueueMemory, ReadyEvent
from qobserve.reader.stream import absorb, event_of, forget_the_past, stream_commands

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

QUEUE = QueueId(b"bull", b"q")
NOPERM = Fault("NOPERM this user has no permissions to run the 'xrange' command")
FRESH = JobTimes(
    timestamp=1000, processed_on=None, attempts=0, delay_ms=0, backoff=None, stalled=False, starts=0, priority=0
)
RAN = replace(FRESH, processed_on=1200, starts=1)
LONG_AGO = ReadyEvent(1, None)


def waiting(ms: int, job: bytes) -> Reply:
    return [b"%d-0" % ms, [b"event", b"waiting", b"jobId", job]]


def other(ms: int) -> Reply:
    return [b"%d-0" % ms, [b"event", b"active", b"jobId", b"1"]]


NEWEST_FIRST = [b"XREVRANGE", b"bull:q:events", b"+", b"-", b"COUNT"]


@pytest.mark.parametrize(
    ("cursor", "last", "count", "asked"),
    [
        pytest.param(None, b"9-0", 50, [[*NEWEST_FIRST, b"50"]], id="never read"),
        pytest.param(b"9-1", b"9-0", 50, [[*NEWEST_FIRST, b"50"]], id="begun anew"),
        pytest.param(b"10-0", b"9-0", 50, [[*NEWEST_FIRST, b"50"]], id="begun anew, by number and not by alphabet"),
        pytest.param(
            b"9-0",
            b"10-0",
            50,
            [[b"XRANGE", b"bull:q:events", b"(9-0", b"+", b"COUNT", b"25"], [*NEWEST_FIRST, b"25"]],
            id="read before",
        ),
        pytest.param(
            b"9-0",
            b"9-0",
            1,
            [[b"XRANGE", b"bull:q:events", b"(9-0", b"+", b"COUNT", b"1"], [*NEWEST_FIRST, b"1"]],
            id="never less than one",
        ),
    ],
)
def test_the_newest_are_asked_and_what_follows_last_time(
    cursor: bytes | None, last: bytes, count: int, asked: list[list[bytes]]
) -> None:
    commands = stream_commands(QUEUE, QueueMemory(cursor=cursor), last, count)

    assert [command.split(b"\r\n")[2::2] for command in commands] == asked


def test_the_first_piece_leads_to_the_end_of_the_stream() -> None:
    memory = QueueMemory()

    assert absorb(memory, [[other(9), waiting(7, b"b"), waiting(5, b"a")]], b"9-0", kept=10)
    assert memory.cursor == b"9-0"
    assert memory.events == {b"a": ReadyEvent(5, None), b"b": ReadyEvent(7, None)}


@pytest.mark.parametrize(
    ("forward", "cursor", "up_to_date"),
    [
        pytest.param([waiting(5, b"a"), other(6)], b"6-0", False, id="more follows"),
        pytest.param([waiting(5, b"a"), other(9)], b"9-0", True, id="all that there was"),
        pytest.param([waiting(5, b"a"), other(12)], b"12-0", True, id="more than there was"),
        pytest.param([], b"9-0", True, id="nothing follows"),
        pytest.param([None], b"9-0", True, id="junk follows"),
    ],
)
def test_later_pieces_lead_as_far_as_they_were_read(
    forward: list[Reply],
    cursor: bytes,
    up_to_date: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    memory = QueueMemory(cursor=b"4-0", events={b"x": ReadyEvent(3, RAN)})

    assert absorb(memory, [forward, [other(9), waiting(8, b"b")]], b"9-0", kept=10) is up_to_date
    assert memory.cursor == cursor
    assert memory.events.pop(b"x") == ReadyEvent(3, RAN)
    assert memory.events.pop(b"b") == ReadyEvent(8, None)
    assert memory.events == ({b"a": ReadyEvent(5, None)} if len(forward) > 1 else {})


@pytest.mark.parametrize("replies", [[NOPERM], [NOPERM, []], [[waiting(5, b"a")], NOPERM], [None, [other(9)]]])
def test_a_piece_that_is_refused_changes_nothing(replies: list[Reply]) -> None:
    memory = QueueMemory(cursor=b"4-0", events={b"x": LONG_AGO})

    assert not absorb(memory, replies, b"9-0", kept=10)
    assert memory == QueueMemory(cursor=b"4-0", events={b"x": LONG_AGO})


@pytest.mark.parametrize(
    ("ms", "remembered"),
    [
        pytest.param(4, ReadyEvent(5, RAN), id="an older one"),
        pytest.param(5, ReadyEvent(5, RAN), id="the same once more"),
        pytest.param(6, ReadyEvent(6, None), id="a later wait, of which no hash was read"),
    ],
)
def test_the_latest_event_of_a_job_is_remembered_with_the_hash_of_its_time(ms: int, remembered: ReadyEvent) -> None:
    memory = QueueMemory(events={b"a": ReadyEvent(5, RAN)})
    absorb(memory, [[waiting(ms, b"a")]], b"9-0", kept=10)

    assert memory.events == {b"a": remembered}


@pytest.mark.parametrize(("kept", "jobs"), [(4, "xyab"), (3, "yab"), (2, "ab"), (1, "b"), (0, "")])
def test_the_newest_events_are_kept(kept: int, jobs: str) -> None:
    memory = QueueMemory(cursor=b"4-0", events={b"x": ReadyEvent(1, None), b"y": ReadyEvent(2, None)})
    absorb(memory, [[waiting(5, b"a")], [waiting(8, b"b")]], b"9-0", kept)

    assert b"".join(memory.events) == jobs.encode()


def test_a_job_that_is_heard_of_again_is_among_the_newest() -> None:
    memory = QueueMemory(events={b"x": ReadyEvent(1, None), b"y": ReadyEvent(2, None)})
    absorb(memory, [[waiting(8, b"x")]], b"9-0", kept=1)

    assert memory.events == {b"x": ReadyEvent(8, None)}


@pytest.mark.parametrize(
    ("event", "times", "up_to_date", "ms"),
    [
        pytest.param(None, FRESH, True, None, id="no event"),
        pytest.param(ReadyEvent(1100, None), FRESH, False, 1100, id="it never ran, so this is its only wait"),
        pytest.param(ReadyEvent(1300, None), RAN, False, 1300, id="ready again after its run"),
        pytest.param(ReadyEvent(1200, None), RAN, False, 1200, id="ready again in the same ms"),
        pytest.param(ReadyEvent(1199, None), RAN, False, None, id="the event is of the wait before the run"),
        pytest.param(ReadyEvent(1199, None), RAN, True, 1199, id="no later one can be missing"),
        pytest.param(ReadyEvent(1300, None), replace(RAN, processed_on=None), False, None, id="ran, who knows when"),
        pytest.param(ReadyEvent(1100, RAN), RAN, False, 1100, id="the hash is the same as then"),
        pytest.param(ReadyEvent(1300, FRESH), RAN, True, None, id="the hash has changed since"),
        pytest.param(ReadyEvent(1300, RAN), FRESH, True, None, id="another job of the same id"),
        pytest.param(ReadyEvent(1100, FRESH), replace(FRESH, priority=3), False, 1100, id="moved to another priority"),
        pytest.param(ReadyEvent(900, None), FRESH, False, None, id="an event of an earlier job of the same id"),
    ],
)
def test_an_event_is_believed_only_of_the_wait_that_it_speaks_of(
    event: ReadyEvent | None,
    times: JobTimes,
    up_to_date: bool,  # noqa: FBT001 - a parameter of the test
    ms: int | None,
) -> None:
    memory = QueueMemory(events={} if event is None else {b"a": event})

    assert event_of(memory, b"a", times, up_to_date=up_to_date) == ms
    believed = event if event is None or ms is None else ReadyEvent(ms, times)
    assert memory.events.get(b"a") == believed


def test_once_believed_an_event_stands_as_long_as_the_hash_does() -> None:
    memory = QueueMemory(events={b"a": ReadyEvent(1100, None)})

    assert event_of(memory, b"a", RAN, up_to_date=True) == 1100
    assert event_of(memory, b"a", RAN, up_to_date=False) == 1100
    assert event_of(memory, b"a", replace(RAN, starts=2), up_to_date=True) is None


def test_what_is_past_is_forgotten() -> None:
    memory = QueueMemory(
        events={
            b"same": ReadyEvent(1, FRESH),
            b"ran": ReadyEvent(2, FRESH),
            b"unread": ReadyEvent(3, None),
            b"out of sight": ReadyEvent(4, FRESH),
        },
        asked={b"same": FRESH, b"ran": FRESH, b"out of sight": FRESH},
    )
    forget_the_past(memory, {b"same": FRESH, b"ran": RAN, b"unread": RAN})

    assert memory.events == {
        b"same": ReadyEvent(1, FRESH),
        b"unread": ReadyEvent(3, None),
        b"out of sight": ReadyEvent(4, FRESH),
    }
    assert memory.asked == {b"same": FRESH}
