"""Spans of jobs in the application's own SDK: names and attributes by the messaging conventions, and BullMQ's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from opentelemetry.trace import Link, Status, StatusCode, set_span_in_context

from qobserve.tracing.attributes import ERROR_TYPE, LINK
from qobserve.tracing.instrumentor_shield import shielded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext, SpanKind, Tracer

Attribute: TypeAlias = "str | bool | int"

_DEFAULT_PORT = 6379


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What a span is to tell of.

    Attributes:
        name: BullMQ's own word, such as `addBulk`.
        type: The conventions' word: create, send, process.
        queue: The queue's name; None where there are several.
        owner: The Queue, FlowProducer, JobScheduler or Worker at work: it knows the server.
        attributes: What is to be told beside that; None is left out.
    """

    name: str
    type: str
    kind: SpanKind
    queue: str | None
    owner: object
    attributes: Mapping[str, Attribute | None] = field(default_factory=dict)


class Spans:
    """Starts and ends spans; none of its methods raises, and each of them takes a span that could not be started."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    @shielded
    def start(
        self,
        operation: Operation,
        *,
        context: Context | None = None,
        links: Sequence[SpanContext] = (),
        linked: str | None = None,
    ) -> Span:
        """Start a span in a context (the present one); `linked` says what the linked spans are to it."""
        return self._tracer.start_span(
            " ".join(filter(None, (operation.name, operation.queue))),
            context=context,
            kind=operation.kind,
            attributes=_attributes(operation),
            links=[Link(link, {LINK: linked} if linked else None) for link in links],
        )

    @shielded
    def within(self, span: Span | None, context: Context | None = None) -> Context | None:
        """A context (the present one) with the span as its current one."""
        return None if span is None else set_span_in_context(span, context)

    @shielded
    def identify(self, span: Span | None, job: object) -> None:
        """Say which job it was, once that is known."""
        job_id = getattr(job, "id", None)
        if span is not None and job_id is not None:
            span.set_attributes({"messaging.message.id": str(job_id), "bullmq.job.id": str(job_id)})

    @shielded
    def fail(self, span: Span | None, error: BaseException) -> None:
        """Say that it failed."""
        if span is not None:
            span.set_attribute(ERROR_TYPE, type(error).__qualname__)
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))

    @shielded
    def end(self, span: Span | None, end_ns: int | None = None) -> None:
        """End it, now or at an earlier moment."""
        if span is not None:
            span.end(end_ns)


def _attributes(operation: Operation) -> dict[str, Attribute]:
    every = {
        "messaging.system": "bullmq",
        "messaging.operation.name": operation.name,
        "messaging.operation.type": operation.type,
        "messaging.destination.name": operation.queue,
        "bullmq.queue.name": operation.queue,
        "bullmq.queue.prefix": _prefix(operation.owner),
        "bullmq.queue.operation": operation.name,
        **(_server(operation.owner) or {}),
        **operation.attributes,
    }
    return {name: value for name, value in every.items() if value is not None}


def _prefix(owner: object) -> str | None:
    prefix = getattr(owner, "prefix", None)
    return prefix if isinstance(prefix, str) else None


@shielded
def _server(owner: object) -> dict[str, Attribute | None]:
    """Where the queue is kept; nothing for a store or a client that does not tell."""
    client = getattr(getattr(owner, "backend", None), "conn", None)
    settings = getattr(getattr(client, "connection_pool", None), "connection_kwargs", None)
    if not isinstance(settings, Mapping):
        return {}
    if path := settings.get("path"):
        return {"server.address": str(path)}
    if not (host := settings.get("host")):
        return {}
    return {"server.address": str(host), "server.port": int(settings.get("port") or _DEFAULT_PORT)}
