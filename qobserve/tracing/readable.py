"""From a span's description to what OpenTelemetry's exporters take, with our own ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode, TraceFlags, TraceState
from opentelemetry.trace import Status as SdkStatus

from qobserve import __version__
from qobserve.tracing.description import Kind, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qobserve.tracing.description import SpanDescription

SCOPE = InstrumentationScope("qobserve", __version__)

_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_KINDS = {kind: SpanKind[kind.name] for kind in Kind}
_STATUSES = {status: SdkStatus(StatusCode[status.name]) for status in Status}


def resource(attributes: Mapping[str, str]) -> Resource:
    """A resource of these attributes and those that name the SDK."""
    return Resource.create({**attributes})


def readable(span: SpanDescription, of: Resource) -> ReadableSpan:
    """The span for an exporter."""
    return ReadableSpan(
        name=span.name,
        context=_context(span.trace_id, span.span_id, span.trace_state),
        parent=None if span.parent_span_id is None else _context(span.trace_id, span.parent_span_id, None),
        resource=of,
        attributes=span.attributes,
        events=tuple(Event(event.name, event.attributes, event.ns) for event in span.events),
        links=tuple(
            Link(_context(link.trace_id, link.span_id, link.trace_state), link.attributes) for link in span.links
        ),
        kind=_KINDS[span.kind],
        status=_STATUSES[span.status],
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=SCOPE,
    )


def _context(trace_id: int, span_id: int, trace_state: str | None) -> SpanContext:
    state = TraceState.from_header([trace_state]) if trace_state else None
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=_SAMPLED, trace_state=state)
