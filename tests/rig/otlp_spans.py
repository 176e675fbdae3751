"""What an OTLP request carries, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

Value: TypeAlias = "str | bool | int | float | bytes | list[Value] | None"
Attributes: TypeAlias = "Mapping[str, Value]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedEvent:
    """An event within a span."""

    name: str
    ns: int
    attributes: Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedLink:
    """A link to another span; ids are hexadecimal."""

    trace_id: str
    span_id: str
    trace_state: str
    attributes: Attributes


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    """A span as it arrived; ids are hexadecimal, `kind` and `status` are lower-case words of OpenTelemetry."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    trace_state: str
    flags: int
    name: str
    kind: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    status: str
    status_message: str
    events: tuple[ReceivedEvent, ...]
    links: tuple[ReceivedLink, ...]
    resource: Attributes
    scope: str
    scope_version: str


def spans_of(request: ExportTraceServiceRequest) -> Iterator[ReceivedSpan]:
    """Every span of the request, with its resource and scope."""
    for resource_spans in request.resource_spans:
        resource = _attributes(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                yield _span(span, resource, scope_spans.scope.name, scope_spans.scope.version)


def _span(span: Span, resource: Attributes, scope: str, version: str) -> ReceivedSpan:
    return ReceivedSpan(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_span_id=span.parent_span_id.hex() or None,
        trace_state=span.trace_state,
        flags=span.flags,
        name=span.name,
        kind=Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
        status=Status.StatusCode.Name(span.status.code).removeprefix("STATUS_CODE_").lower(),
        status_message=span.status.message,
        events=tuple(
            ReceivedEvent(name=event.name, ns=event.time_unix_nano, attributes=_attributes(event.attributes))
            for event in span.events
        ),
        links=tuple(
            ReceivedLink(
                trace_id=link.trace_id.hex(),
                span_id=link.span_id.hex(),
                trace_state=link.trace_state,
                attributes=_attributes(link.attributes),
            )
            for link in span.links
        ),
        resource=resource,
        scope=scope,
        scope_version=version,
    )


def _attributes(pairs: Iterable[KeyValue]) -> Attributes:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Value:
    which = value.WhichOneof("value")
    if which is None:
        return None
    if which == "array_value":
        return [_value(each) for each in value.array_value.values]
    plain: Value = getattr(value, which)
    return plain
