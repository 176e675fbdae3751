"""A job's options: the context is found in BullMQ's form and put there in the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from qobserve.tracing.context import carrier_of, trace_of, with_carrier

if TYPE_CHECKING:
    from collections.abc import Mapping

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HEADERS = {"traceparent": PARENT, "tracestate": "a=1", "baggage": "k=v"}
BY_NODE = rb'{"attempts":0,"tm":"{\"traceparent\":\"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"}"}'


@pytest.mark.parametrize("opts", [BY_NODE, BY_NODE.decode(), json.loads(BY_NODE)], ids=["bytes", "text", "object"])
def test_what_node_wrote_is_found(opts: bytes | str | dict[str, object]) -> None:
    assert carrier_of(opts) == {"traceparent": PARENT}


@pytest.mark.parametrize(
    "opts",
    [
        None,
        "",
        "junk",
        b"\xff\xfe",
        "[]",
        "7",
        "null",
        "{}",
        {},
        {"tm": None},
        {"tm": 7},
        {"tm": {"traceparent": PARENT}},
        {"tm": "junk"},
        {"tm": "[1]"},
        {"tm": "{" * 100},
        {"tm": json.dumps(HEADERS), "omc": True},
        json.dumps({"tm": json.dumps(HEADERS), "more": "x" * 65_536}),
        "[" * 60_000,
    ],
    ids=lambda opts: repr(opts)[:30],
)
def test_options_that_are_hostile_hold_nothing(opts: str | bytes | dict[str, object] | None) -> None:
    assert carrier_of(opts) is None


def test_what_is_put_is_found_again() -> None:
    opts: Mapping[str, object] = {"attempts": 3, "delay": 0}
    put = with_carrier(opts, HEADERS)
    assert put == {
        "attempts": 3,
        "delay": 0,
        "tm": f'{{"traceparent":"{PARENT}","tracestate":"a=1","baggage":"k=v"}}',
    }
    assert opts == {"attempts": 3, "delay": 0}
    assert carrier_of(json.dumps(put)) == HEADERS
    assert trace_of(put["tm"]) == (PARENT, "a=1")


def test_nothing_is_put_without_headers_or_against_the_producers_wish() -> None:
    assert with_carrier({"attempts": 3}, {}) == {"attempts": 3}
    assert with_carrier({"omc": True}, HEADERS) == {"omc": True}
