"""The context in `opts.tm`, in the form that Node.js writes and reads."""

from __future__ import annotations

from collections import UserDict

import pytest
from opentelemetry import baggage, trace
from opentelemetry.context import Context

from qobserve.tracing.instrumentor_context import (
    apart,
    headers_of,
    metadata,
    omits_context,
    read,
    span_context,
    stamped,
)

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TM = f'{{"traceparent":"{TRACEPARENT}"}}'
SENDER = trace.SpanContext(
    0x0AF7651916CD43DD8448EB211C80319C,
    0xB7AD6B7169203331,
    is_remote=False,
    trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
)


def test_it_is_written_as_node_writes_it() -> None:
    context = trace.set_span_in_context(trace.NonRecordingSpan(SENDER), Context())
    assert stamped({}, headers_of(context) or {}) == {"tm": TM}
    more = headers_of(baggage.set_baggage("a", "b", context)) or {}
    assert stamped({}, more) == {"tm": f'{{"traceparent":"{TRACEPARENT}","baggage":"a=b"}}'}


def test_nothing_is_written_for_nothing() -> None:
    assert headers_of(Context()) == {}


@pytest.mark.parametrize("opts", [{"tm": TM}, {"telemetry": {"metadata": TM}}], ids=["stored", "spoken"])
def test_it_is_read(opts: dict[str, object]) -> None:
    found = span_context(read(opts))
    assert found is not None
    assert (found.trace_id, found.span_id, found.is_remote) == (SENDER.trace_id, SENDER.span_id, True)


@pytest.mark.parametrize("opts", [{}, {"tm": "{"}, {"tm": 1}, {"telemetry": 1}, {"telemetry": {"metadata": "{}"}}])
def test_there_may_be_none_and_the_present_span_is_no_substitute(opts: dict[str, object]) -> None:
    with trace.use_span(trace.NonRecordingSpan(SENDER)):
        assert span_context(read(opts)) is None
        assert span_context(read({"tm": '{"baggage":"a=b"}'})) is None
        assert span_context(apart()) is None


@pytest.mark.parametrize(
    ("opts", "omits"),
    [
        ({}, False),
        ({"omc": True}, True),
        ({"omc": False}, False),
        ({"telemetry": {"omitContext": True}}, True),
        ({"telemetry": {"metadata": TM}}, False),
        ({"telemetry": None}, False),
    ],
)
def test_whether_it_is_wanted(opts: dict[str, object], omits: bool) -> None:  # noqa: FBT001  # a table's column
    assert omits_context(opts) is omits


def test_the_stored_form_comes_first() -> None:
    assert metadata({"tm": TM, "telemetry": {"metadata": "other"}}) == TM


def test_only_options_are_stamped_and_the_callers_stay() -> None:
    own, headers = {"attempts": 2}, {"traceparent": TRACEPARENT}
    assert stamped(own, headers) == {"attempts": 2, "tm": TM}
    assert own == {"attempts": 2}
    assert stamped(None, headers) == {"tm": TM}
    assert stamped(UserDict(own), headers) == {"attempts": 2, "tm": TM}
    assert stamped(7, headers) == 7
