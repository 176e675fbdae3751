"""The event stream: what XINFO tells of it, and which of its entries say that a job became ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.events import StreamFacts, entry_bytes, entry_id, is_missing, last_entry, ready_events, stream_facts
from qobserve.model.reply import Fault

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

NO_KEY = Fault("ERR no such key")
WRONGTYPE = Fault("WRONGTYPE Operation against a key holding the wrong kind of value")
FIRST: Reply = [b"1796035290000-0", [b"event", b"added", b"jobId", b"1", b"name", b"job"]]
LAST: Reply = [b"1796035293012-3", [b"event", b"completed", b"jobId", b"1", b"returnvalue", b"x" * 100]]
REDIS_7: list[Reply] = [
    *(b"length", 10019, b"radix-tree-keys", 101, b"radix-tree-nodes", 204, b"last-generated-id", b"1796035293012-3"),
    *(b"max-deleted-entry-id", b"0-0", b"entries-added", 32001, b"recorded-first-entry-id", b"1796035290000-0"),
    *(b"groups", 0, b"first-entry", FIRST, b"last-entry", LAST),
]
REDIS_6: list[Reply] = [
    *(b"length", 2, b"radix-tree-keys", 1, b"radix-tree-nodes", 2, b"last-generated-id", b"1796035293012-3"),
    *(b"groups", 0, b"first-entry", FIRST, b"last-entry", LAST),
]
EMPTY: list[Reply] = [
    *(b"length", 0, b"last-generated-id", b"0-0", b"entries-added", 0, b"first-entry", None, b"last-entry", None),
]


@pytest.mark.parametrize(
    ("reply", "facts"),
    [
        pytest.param(REDIS_7, StreamFacts(added=32001, retained=10019, last_ms=1796035293012), id="redis 7"),
        pytest.param(REDIS_6, StreamFacts(added=None, retained=2, last_ms=1796035293012), id="redis 6"),
        pytest.param(EMPTY, StreamFacts(added=0, retained=0, last_ms=None), id="empty"),
        pytest.param([], StreamFacts(added=None, retained=None, last_ms=None), id="nothing told"),
        pytest.param(NO_KEY, None, id="no stream"),
        pytest.param(WRONGTYPE, None, id="no stream but something else"),
        pytest.param(None, None, id="no answer"),
    ],
)
def test_what_xinfo_tells(reply: Reply, facts: StreamFacts | None) -> None:
    assert stream_facts(reply) == facts


@pytest.mark.parametrize(("reply", "missing"), [(NO_KEY, True), (WRONGTYPE, False), (REDIS_7, False), (None, False)])
def test_a_stream_that_does_not_exist_is_no_problem(reply: Reply, missing: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert is_missing(reply) is missing


def test_how_large_entries_may_be() -> None:
    last = sum(len(part) for part in (b"1796035293012-3", b"event", b"completed", b"jobId", b"1", b"returnvalue"))

    assert entry_bytes(REDIS_7) == last + 100
    assert entry_bytes(NO_KEY) == 0
    assert entry_bytes([]) == 0


def entry(number: str, event: str, job: str, **fields: str) -> Reply:
    pairs = {"event": event, "jobId": job, **fields}
    return [number.encode(), [part.encode() for pair in pairs.items() for part in pair]]


TAIL: list[Reply] = [
    entry("1796035299000-0", "active", "1", prev="waiting"),
    entry("1796035298000-1", "waiting", "1", prev="active"),
    entry("1796035297000-0", "delayed", "2", delay="1796035999999"),
    entry("1796035296000-0", "waiting", "2", prev="delayed"),
    entry("1796035295000-0", "waiting", "1"),
    entry("1796035294000-0", "added", "3", name="job"),
    entry("1796035293000-0", "waiting", "4"),
]


READY = {b"1": 1796035298000, b"2": 1796035296000, b"4": 1796035293000}


def test_a_job_is_ready_since_its_last_waiting_event() -> None:
    assert ready_events([TAIL]) == READY


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([TAIL[::-1]], id="oldest first"),
        pytest.param([TAIL[:3], TAIL[3:]], id="two pieces"),
        pytest.param([TAIL[3:], TAIL[:3]], id="two pieces, the older one first"),
        pytest.param([TAIL, TAIL[::-1]], id="pieces that overlap"),
        pytest.param([None, TAIL, NO_KEY, []], id="with pieces that were not answered"),
    ],
)
def test_pieces_of_a_stream_say_the_same_in_any_order(pieces: list[Reply]) -> None:
    assert ready_events(pieces) == READY


def test_without_pieces_nothing_is_said() -> None:
    assert ready_events([]) == {}


@pytest.mark.parametrize(
    "reply",
    [
        None,
        NO_KEY,
        WRONGTYPE,
        [],
        [None, b"x", 7, [], [b"1-0"], [b"1-0", None], [b"1-0", b"flat"]],
        [[b"1-0", [b"event", b"waiting"]]],
        [[b"1-0", [b"event", b"waiting", b"jobId"]]],
        [[b"1-0", [b"event", b"waiting", b"jobId", None]]],
        [[b"soon-0", [b"event", b"waiting", b"jobId", b"1"]]],
        [[b"1-0", [b"jobId", b"1"]]],
    ],
)
def test_entries_that_are_junk_say_nothing(reply: Reply) -> None:
    assert b"1" not in ready_events([reply])


@pytest.mark.parametrize(
    ("reply", "last"),
    [
        (REDIS_7, b"1796035293012-3"),
        (REDIS_6, b"1796035293012-3"),
        (EMPTY, None),
        ([b"last-generated-id", b"0-1"], b"0-1"),
        ([b"length", b"last-generated-id", b"last-generated-id", b"5-0"], b"5-0"),  # a value that looks like a name
        ([b"last-generated-id", None], None),
        ([b"last-generated-id", b"soon"], None),
        ([], None),
        (NO_KEY, None),
        (None, None),
    ],
)
def test_the_newest_entry(reply: Reply, last: bytes | None) -> None:
    assert last_entry(reply) == last


def test_ids_of_entries_are_compared_as_numbers() -> None:
    ids = [b"1796035293012-10", b"999999999999-7", b"1796035293012-9", b"1796035293012-0"]

    assert sorted(ids, key=entry_id) == [ids[1], ids[3], ids[2], ids[0]]
    assert (entry_id(b"7"), entry_id(b"soon-1"), entry_id(b"")) == ((7, 0), (0, 1), (0, 0))
