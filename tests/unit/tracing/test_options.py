"""The ratio keeps the traces that OpenTelemetry's own sampler keeps."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased

from qobserve.tracing.options import SpanOptions


@given(st.floats(0, 1), st.integers(1, 2**128 - 1))
def test_a_trace_is_kept_where_opentelemetry_keeps_it(ratio: float, trace_id: int) -> None:
    theirs = TraceIdRatioBased(ratio).should_sample(None, trace_id, "any").decision
    assert SpanOptions(ratio=ratio).keeps(trace_id) is (theirs is Decision.RECORD_AND_SAMPLE)


@pytest.mark.parametrize(
    ("ratio", "low_half", "kept"),
    [(1, 2**64 - 1, True), (0, 0, False), (0.5, 2**63 - 1, True), (0.5, 2**63, False)],
)
def test_the_bound_is_exact(ratio: float, low_half: int, kept: bool) -> None:  # noqa: FBT001 - the expected value of a case
    assert SpanOptions(ratio=ratio).keeps(7 << 64 | low_half) is kept
