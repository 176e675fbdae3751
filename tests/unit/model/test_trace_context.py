"""W3C trace context to the letter, and `opts.tm` as BullMQ writes it and as nobody should."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import TraceState, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from qobserve.model.trace_context import (
    TraceParent,
    carrier,
    format_traceparent,
    format_tracestate,
    parse_traceparent,
    parse_tracestate,
    trace_of,
)

TRACE = "0af7651916cd43dd8448eb211c80319c"
SPAN = "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
READ = TraceParent(trace_id=0x0AF7651916CD43DD8448EB211C80319C, span_id=0xB7AD6B7169203331, sampled=True)


@pytest.mark.parametrize(
    ("raw", "sampled"),
    [
        (PARENT, True),
        (f"00-{TRACE}-{SPAN}-00", False),
        (f"00-{TRACE}-{SPAN}-03", True),  # and the trace id is random
        (f"00-{TRACE}-{SPAN}-02", False),
        (f"00-{TRACE}-{SPAN}-ff", True),  # bits without a meaning yet
        (f"01-{TRACE}-{SPAN}-01", True),  # a version to come
        (f"cc-{TRACE}-{SPAN}-01-what-will-be", True),
        (f"cc-{TRACE}-{SPAN}-00-", False),
    ],
)
def test_a_valid_traceparent_is_read(raw: str, sampled: bool) -> None:  # noqa: FBT001 - the expected value of a case
    assert parse_traceparent(raw) == TraceParent(trace_id=READ.trace_id, span_id=READ.span_id, sampled=sampled)


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "00",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN.upper()}-01",
        f"00-{TRACE}-{SPAN}-0A",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01-",
        f"cc-{TRACE}-{SPAN}-01more",
        f"0-{TRACE}-{SPAN}-01",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}0-{SPAN}-01",
        f"00-{TRACE}-{SPAN}0-01",
        f"00_{TRACE}_{SPAN}_01",
        f" {PARENT}",
        f"{PARENT}\n",
        f"00-{'٣' * 32}-{SPAN}-01",  # digits, but not of ASCII
        f"cc-{TRACE}-{SPAN}-01-{'x' * 500}",
    ],
)
def test_a_traceparent_that_is_forbidden_is_none(raw: str) -> None:
    assert parse_traceparent(raw) is None


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.booleans())
def test_what_is_written_is_read_again_here_and_by_opentelemetry(trace_id: int, span_id: int, sampled: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
    parent = TraceParent(trace_id=trace_id, span_id=span_id, sampled=sampled)
    raw = format_traceparent(parent)
    theirs = get_current_span(TraceContextTextMapPropagator().extract({"traceparent": raw})).get_span_context()
    assert parse_traceparent(raw) == parent
    assert (theirs.trace_id, theirs.span_id, theirs.trace_flags.sampled) == (trace_id, span_id, sampled)


@pytest.mark.parametrize(
    ("raw", "pairs"),
    [
        ("", ()),
        ("a=1", (("a", "1"),)),
        ("congo=t61rcWkgMzE,rojo=00f067aa0ba902b7", (("congo", "t61rcWkgMzE"), ("rojo", "00f067aa0ba902b7"))),
        (" a=1\t, ,\tb=2,", (("a", "1"), ("b", "2"))),
        ("tenant@system=a b", (("tenant@system", "a b"),)),
        ("a=b=c", ()),
        ("0a_-*/=~!", (("0a_-*/", "~!"),)),
        ("A=1", ()),
        ("a=1,B=2", ()),
        ("a", ()),
        ("a=", ()),
        ("=1", ()),
        ("a =1", ()),
        ("a=1,a=2", ()),
        ("a=é", ()),
        ("a=\x7f", ()),
        ("a@b@c=1", ()),
        ("a@" + "b" * 15 + "=1", ()),
        ("a" * 256 + "=1", (("a" * 256, "1"),)),
        ("a" * 257 + "=1", ()),
        ("a=" + "1" * 256, (("a", "1" * 256),)),
        ("a=" + "1" * 257, ()),
    ],
)
def test_a_tracestate_is_read_whole_or_not_at_all(raw: str, pairs: tuple[tuple[str, str], ...]) -> None:
    assert parse_tracestate(raw) == pairs


def test_a_tracestate_of_more_than_32_members_is_none() -> None:
    members = [f"k{n}=v" for n in range(33)]
    assert parse_tracestate(",".join(members)) == ()
    assert len(parse_tracestate(",".join(members[:32]))) == 32
    assert parse_tracestate("," * 100_000) == ()


def test_a_long_tracestate_loses_long_members_first_and_then_the_last() -> None:
    long, short = "x" * 200, "y" * 100
    raw = f"a={short},b={long},c={short},d={short},e={short},f={short}"
    assert [key for key, _ in parse_tracestate(raw)] == ["a", "c", "d", "e"]
    assert [key for key, _ in parse_tracestate(f"a={long},b={long},c={long}")] == ["a", "b"]
    assert len(format_tracestate(parse_tracestate(raw))) <= 512


@given(st.text(alphabet="a1@=, \t_Bé", max_size=40))
def test_a_tracestate_is_what_opentelemetry_reads_or_less(raw: str) -> None:
    ours = parse_tracestate(raw)
    assert ours in {(), tuple(TraceState.from_header([raw]).items())}
    assert parse_tracestate(format_tracestate(ours)) == ours


def tm(**headers: object) -> str:
    return json.dumps(headers)


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (tm(traceparent=PARENT), (PARENT, None)),
        (tm(traceparent=PARENT, tracestate="a=1 , b=2", baggage="k=v"), (PARENT, "a=1,b=2")),
        (tm(traceparent=PARENT, tracestate="A=1"), (PARENT, None)),
        (tm(traceparent=PARENT, tracestate=7), (PARENT, None)),
        (tm(traceparent=f"00-{TRACE}-{SPAN}-00"), (f"00-{TRACE}-{SPAN}-00", None)),
        (tm(traceparent="junk"), None),
        (tm(traceparent=7), None),
        (tm(traceparent=None), None),
        (tm(b3="80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1"), None),
        ("{}", None),
        ("[]", None),
        ("null", None),
        ("7", None),
        (PARENT, None),
        ("", None),
        ("{", None),
        ("[" * 10_000, None),
        (tm(traceparent=PARENT, more="x" * 16_384), None),
        (7, None),
        (None, None),
        ({"traceparent": PARENT}, None),
        (b"{}", None),
    ],
    ids=lambda case: repr(case)[:40],
)
def test_what_a_producer_left_is_found_where_it_is_well_formed(
    raw: object, found: tuple[str, str | None] | None
) -> None:
    assert trace_of(raw) == found


def test_a_carrier_keeps_all_headers_that_are_text() -> None:
    assert carrier(tm(traceparent="x", baggage="k=v", n=7, o={})) == {"traceparent": "x", "baggage": "k=v"}
    assert carrier(tm(n=7)) is None


@given(st.text() | st.dictionaries(st.sampled_from(["traceparent", "tracestate"]), st.text()).map(json.dumps))
def test_nothing_that_is_written_there_raises(raw: str) -> None:
    found = trace_of(raw)
    assert found is None or parse_traceparent(found[0]) is not None
