"""Queues told from the keys of a SCAN, and from the names of connections."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.model.keys import (
    ANCHOR_PATTERN,
    ANCHORS,
    QueueId,
    node_client_name,
    parse_queue,
    python_client_name,
    queue_id,
    queue_of_anchor,
    text,
)

ORDERS = QueueId(b"bull", b"orders")


@pytest.mark.parametrize(
    ("key", "prefix", "name"),
    [
        (b"bull:orders:meta", b"bull", b"orders"),
        (b"bull:orders:id", b"bull", b"orders"),
        (b"a:b:orders:meta", b"a:b", b"orders"),
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
        b":orders:meta",
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
