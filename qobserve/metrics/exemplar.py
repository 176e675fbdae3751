"""Exemplars: a trace that a value came from, as OpenMetrics prints it behind the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from qobserve.metrics.family import number
from qobserve.model.trace_context import parse_traceparent

if TYPE_CHECKING:
    from qobserve.model.run import Card

Exemplar: TypeAlias = tuple[str, float, int]
"""The trace context, the value, and when it was seen (ms)."""

_SAMPLED = frozenset("13579bdf")
_FLAG = 54
"""Where a `traceparent` has the digit whose lowest bit says that the trace is recorded."""


def sampled(card: Card | None) -> str | None:
    """The trace context of a job whose trace is recorded: one that is not is nothing to point to.

    This is asked for every run, so that the rest of the context is looked at only when it is printed.
    """
    context = None if card is None else card.traceparent
    return context if context is not None and context[_FLAG : _FLAG + 1] in _SAMPLED else None


def printed(exemplar: Exemplar) -> str:
    """What follows the value; nothing where the context turns out to be none."""
    context, value, ms = exemplar
    parent = parse_traceparent(context)
    if parent is None:
        return ""
    return f' # {{trace_id="{parent.trace_id:032x}"}} {number(value)} {ms // 1000}.{ms % 1000:03d}'
