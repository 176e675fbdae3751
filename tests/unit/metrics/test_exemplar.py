"""Which jobs have a trace that can be pointed to, and how that is printed."""

from __future__ import annotations

import pytest

from qobserve.metrics.exemplar import printed, sampled
from qobserve.model.run import Card

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def shown(context: str | None) -> str:
    """What stands behind the value of a job with this context."""
    known = sampled(Card(traceparent=context))
    return "" if known is None else printed((known, 0.25, 1_796_035_293_012))


@pytest.mark.parametrize("context", [f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-03", f"cc-{TRACE}-{SPAN}-01-more"])
def test_a_recorded_trace_is_shown(context: str) -> None:
    assert shown(context) == f' # {{trace_id="{TRACE}"}} 0.25 1796035293.012'


@pytest.mark.parametrize(
    "context",
    [
        None,
        "",
        "1",
        f"00-{TRACE}-{SPAN}-00",
        f"00-{TRACE}-{SPAN}-02",
        f"00-{TRACE}-{SPAN}-",
        f"00-{TRACE}-{SPAN}",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f'00-{TRACE[:-1]}"-{SPAN}-01',
        f"00-{TRACE}-{SPAN}-01-more",
        "x" * 54 + "1",
        "x" * 10_000,
    ],
)
def test_nothing_else_is(context: str | None) -> None:
    assert shown(context) == ""


def test_a_job_without_a_card_has_none() -> None:
    assert sampled(None) is None
