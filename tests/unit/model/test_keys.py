"""Queues told from the keys of a SCAN, and from the names of connections."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.model.keys import (
    ANCHOR_PATTERN,
    ANCHORS,
    QueueId,
    is_bullmq,
    node_client_name,
    parse_queue,
    python_client_name,
    queue_id,
    queue_of_anchor,
    text,
)
from qobserve.model.reply import Fault

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

ORDERS = QueueId(b"bull", b"orders")
WRONGTYPE = Fault("WRONGTYPE Operation against a key holding the wrong kind of value")
NO_KEY_ACCESS = Fault("NOPERM No permissions to access a key")
NO_KEY_ACCESS_6 = Fault("NOPERM this user has no permissions to access one of the keys used as arguments")
NOPERM = Fault("NOPERM this user has no permissions to run the 'hmget' command")


@pytest.mark.parametrize(
    ("key", "prefix", "name"),
    [
        (b"bull:orders:meta", b"bull", b"orders"),
        (b"bull:orders:id", b"bull", b"orders"),
        (b"a:b:orders:meta", b"a:b", b"orders"),
        (b":orders:meta", b"", b"orders"),
        (b"{bull}:orders:id", b"{bull}", b"orders"),
        (b"{a:b}:orders:id", b"{a:b}", b"orders"),
        (b"bull:{orders}:id", b"bull", b"{orders}"),
        ("bull:日本 queue:id".encode(), b"bull", "日本 queue".encode()),
        (b'bull:"\\\n\xff:meta', b"bull", b'"\\\n\xff'),
        (b"bull:meta:meta", b"bull", b"meta"),
        (b"relay:orders:id", b"relay", b"orders"),
    ],
)
def test_an_anchor_tells_its_queue(key: bytes, prefix: bytes, name: bytes) -> None:
    assert queue_of_anchor(key) == QueueId(prefix, name)


@pytest.mark.parametrize(
    ("key", "prefixes", "prefix", "name"),
    [
        (b"bull:orders:meta", (b"bull",), b"bull", b"orders"),
        (b"bull:a:b:meta", (b"bull",), b"bull", b"a:b"),  # names held colons before 5.12.12
        (b"a:b:orders:id", (b"a:b",), b"a:b", b"orders"),
        (b"a:b:orders:id", (b"a", b"a:b"), b"a:b", b"orders"),
        (b"a:b:orders:id", (b"a:b", b"a"), b"a:b", b"orders"),
        (b"a:orders:id", (b"a", b"a:b"), b"a", b"orders"),
        (b"{bull}:orders:id", (b"bull", b"{bull}"), b"{bull}", b"orders"),
    ],
)
def test_a_known_prefix_decides(key: bytes, prefixes: tuple[bytes, ...], prefix: bytes, name: bytes) -> None:
    assert queue_of_anchor(key, prefixes) == QueueId(prefix, name)


@pytest.mark.parametrize("prefixes", [(), (b"bull",)])
@pytest.mark.parametrize(
    "key",
    [
        b"bull:orders:wait",
        b"bull:orders:1",
        b"bull:orders:metadata",
        b"bull:orders:meta:",
        b"bull:orders:idle",
        b"bull:meta",
        b"meta",
        b":meta",
        b"bull::meta",
        b"",
        b"bull::relay:billing:meta",
        b"bull::relay:billing:id",
        b"bull::relay:billing:7:id",
        b"bull::relay:id",
    ],
)
def test_what_is_no_anchor_is_no_queue(key: bytes, prefixes: tuple[bytes, ...]) -> None:
    assert queue_of_anchor(key, prefixes) is None


@pytest.mark.parametrize("key", [b"bullet:orders:meta", b"other:orders:id", b"bull", b"bull:meta"])
def test_other_prefixes_are_left_alone(key: bytes) -> None:
    assert queue_of_anchor(key, (b"bull",)) is None


@given(
    prefix=st.binary(min_size=1).filter(lambda raw: not raw.endswith(b":") and b"::relay:" not in raw + b":"),
    name=st.binary(min_size=1).filter(lambda raw: b":" not in raw),
    anchor=st.sampled_from(ANCHORS),
)
def test_every_queue_is_found_by_its_own_anchors(prefix: bytes, name: bytes, anchor: bytes) -> None:
    queue = QueueId(prefix, name)
    key = queue.key(anchor)

    assert queue_of_anchor(key, (prefix,)) == queue
    assert queue_of_anchor(key) == queue
    assert fnmatchcase(key.decode("latin-1"), ANCHOR_PATTERN.decode())


@pytest.mark.parametrize(
    ("spec", "queue"),
    [
        ("orders", ORDERS),
        ("bull:orders", ORDERS),
        ("a:b:orders", QueueId(b"a:b", b"orders")),
        ("{bull}:日本", QueueId(b"{bull}", "日本".encode())),
    ],
)
def test_a_queue_as_a_person_writes_it(spec: str, queue: QueueId) -> None:
    assert parse_queue(spec) == queue


def test_a_queue_is_known_by_its_bytes() -> None:
    assert queue_id("bull", "orders") == ORDERS
    assert hash(queue_id("bull", "orders")) == hash(ORDERS)
    assert QueueId(b"a", b"b:c") != QueueId(b"a:b", b"c")
    assert QueueId(b"bull", b"\xff") != QueueId(b"bull", rb"\xff")


def test_names_are_shown_whole_whatever_their_bytes() -> None:
    queue = QueueId(b"a:b", b"\xe6\x97\xa5 \xff")

    assert (queue.prefix, queue.name, str(queue)) == ("a:b", "日 \\xff", "a:b:日 \\xff")
    assert queue.key(b"wait") == b"a:b:\xe6\x97\xa5 \xff:wait"


@given(st.binary())
def test_text_never_fails_and_can_be_printed(raw: bytes) -> None:
    assert text(raw).encode().decode() == text(raw)


@pytest.mark.parametrize(
    ("queue", "node", "python"),
    [
        (ORDERS, b"bull:b3JkZXJz", b"bull:orders"),
        (QueueId(b"a:b", b"q"), b"a:b:cQ==", b"a:b:q"),
        (QueueId(b"bull", b"~~?"), b"bull:fn4/", b"bull:~~?"),  # the standard alphabet, not the one for URLs
        (QueueId(b"bull", "日本".encode()), b"bull:5pel5pys", "bull:日本".encode()),
    ],
)
def test_what_workers_call_their_connections(queue: QueueId, node: bytes, python: bytes) -> None:
    assert (node_client_name(queue), python_client_name(queue)) == (node, python)


@pytest.mark.parametrize(
    ("queue", "readings"),
    [
        (ORDERS, []),
        (QueueId(b"a:b", b"c"), [QueueId(b"a", b"b:c")]),
        (QueueId(b"a", b"b:c"), [QueueId(b"a", b"b:c")]),
        (
            QueueId(b"a:b:c", b"d"),
            [QueueId(b"a:b", b"c:d"), QueueId(b"a", b"b:c:d")],
        ),
    ],
)
def test_the_same_keys_read_with_colons_in_the_name(queue: QueueId, readings: list[QueueId]) -> None:
    assert list(queue.readings()) == readings
    assert {reading.base for reading in readings} <= {queue.base}


@pytest.mark.parametrize(
    ("events_limit", "version", "events_type", "bullmq"),
    [
        pytest.param(b"10000", b"bullmq:5.81.5", b"stream", True, id="all"),
        pytest.param(None, None, b"none", False, id="nothing"),
        pytest.param(WRONGTYPE, WRONGTYPE, b"none", False, id="a key of the application's own that ends in meta"),
        pytest.param(WRONGTYPE, WRONGTYPE, b"stream", True, id="meta is none, but there is a stream"),
        pytest.param(b"10000", None, b"none", True, id="trim length"),
        pytest.param(None, b"bullmq:6.7.0", b"none", True, id="version"),
        pytest.param(None, b"bullmq-pro:7.48.0", b"none", True, id="version of Pro"),
        pytest.param(None, b"7", b"none", False, id="version of something else"),
        pytest.param(None, None, b"stream", True, id="stream"),
        pytest.param(None, None, b"list", False, id="events that are no stream"),
        pytest.param(NOPERM, NOPERM, b"none", True, id="meta may not be read"),
        pytest.param(None, None, NOPERM, True, id="the type may not be asked"),
        pytest.param(NO_KEY_ACCESS, NO_KEY_ACCESS, NO_KEY_ACCESS, False, id="keys that are not ours to read"),
        pytest.param(NO_KEY_ACCESS_6, NO_KEY_ACCESS_6, b"stream", False, id="the same, Redis 6.2"),
        pytest.param(NOPERM, NOPERM, NO_KEY_ACCESS, False, id="neither the command nor the key"),
    ],
)
def test_only_what_bullmq_wrote_is_a_queue(
    events_limit: Reply,
    version: Reply,
    events_type: Reply,
    bullmq: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert is_bullmq(events_limit, version, events_type) is bullmq
