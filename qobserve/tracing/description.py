"""A span as a pure value: what is to be exported, before any SDK has seen it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

AttributeValue: TypeAlias = "str | bool | int | float | tuple[str, ...]"
Attributes: TypeAlias = "Mapping[str, AttributeValue]"


class Kind(StrEnum):
    """What a span is towards other spans, in OpenTelemetry's words."""

    INTERNAL = "internal"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    CLIENT = "client"


class Status(StrEnum):
    """How what the span tells of went, in OpenTelemetry's words."""

    UNSET = "unset"
    OK = "ok"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """Something that happened within a span; `ns` is nanoseconds since the epoch."""

    name: str
    ns: int
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanLink:
    """Another span that has to do with this one."""

    trace_id: int
    span_id: int
    attributes: Attributes = field(default_factory=dict)
    trace_state: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanDescription:
    """One span; times are nanoseconds since the epoch, `trace_state` is the text of a W3C `tracestate` header."""

    trace_id: int
    span_id: int
    parent_span_id: int | None
    name: str
    kind: Kind
    start_ns: int
    end_ns: int
    attributes: Attributes = field(default_factory=dict)
    status: Status = Status.UNSET
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    trace_state: str | None = None
