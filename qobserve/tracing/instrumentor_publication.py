"""The spans of one call that adds jobs, and the contexts that travel with the jobs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind

from qobserve.tracing.instrumentor_context import (
    headers_of,
    metadata,
    omits_context,
    read,
    span_context,
)
from qobserve.tracing.instrumentor_shield import attached, detached, shielded
from qobserve.tracing.instrumentor_spans import Operation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext

    from qobserve.tracing.instrumentor_context import Headers
    from qobserve.tracing.instrumentor_spans import Attribute, Spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One job that is to be added.

    Attributes:
        owner: As in `Operation`.
        opts: The options that apply to it: the caller's over the queue's.
        prefix: Where it is not the owner's.
        within: The context of the job that it belongs to, in a flow.
    """

    owner: object
    queue: str
    name: object
    opts: Mapping[str, object]
    prefix: object = None
    within: Context | None = None

    def operation(self, name: str, kind: SpanKind, kind_of_operation: str, **more: Attribute | None) -> Operation:
        """What a span about this job is to tell of."""
        named = {"bullmq.job.name": None if self.name is None else str(self.name), **more}
        if self.prefix:
            named["bullmq.queue.prefix"] = str(self.prefix)
        return Operation(
            name=name, type=kind_of_operation, kind=kind, queue=self.queue, owner=self.owner, attributes=named
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """A job that has got a span of its own, and when its span was over."""

    span: Span | None
    context: Context | None
    end_ns: int


@dataclass(slots=True, kw_only=True)
class Publication:
    """The spans of one call that adds jobs: one for the call; for each job its own, where there are such."""

    spans: Spans
    span: Span | None
    created: list[Created | None] = field(default_factory=list)

    async def around(self, call: Callable[[], Awaitable[object]], jobs: Callable[[object], Iterable[object]]) -> object:
        """Make the call inside its span; `jobs` finds the jobs in the answer, in the order of `created`."""
        context = self.spans.within(self.span)
        token = attached(context) if context is not None else None
        try:
            answer = await call()
        except Exception as exc:
            self.spans.fail(self.span, exc)
            raise
        else:
            self._identify(answer, jobs)
            return answer
        finally:
            detached(token)
            for created in filter(None, self.created):
                self.spans.end(created.span, created.end_ns)
            self.spans.end(self.span)

    @shielded
    def _identify(self, answer: object, jobs: Callable[[object], Iterable[object]]) -> None:
        found = list(jobs(answer))
        if not self.created and len(found) == 1:
            self.spans.identify(self.span, found[0])
        for created, job in zip(self.created, found, strict=False):
            if created is not None:
                self.spans.identify(created.span, job)


@dataclass(slots=True, kw_only=True)
class Batch:
    """Jobs that are added by one call: each is stamped with a context, and then the call's own span begins.

    As the conventions say: with `create_spans` each job has a span of its own, which travels with it, and the call's
    span is linked to all of them; without, the call's own span travels with each.
    """

    spans: Spans
    operation: Operation
    create_spans: bool
    _span: Span | None = None
    _common: Headers | None = None
    _links: list[SpanContext] = field(default_factory=list)
    _created: list[Created | None] = field(default_factory=list)

    def begin(self) -> None:
        """Start the call's span, if it is what travels."""
        if not self.create_spans:
            self._span = self.spans.start(self.operation)
            context = self.spans.within(self._span)
            self._common = headers_of(context) if context is not None else None

    def stamp(self, message: Message) -> tuple[Headers | None, Context | None]:
        """What is to travel with a job, and the context that jobs below it are created in."""
        created = self._create(message) if self._needs_span(message) else None
        self._created.append(created)
        if created is None:
            return (None if is_settled(message.opts) else self._common), message.within
        return (headers_of(created.context) if created.context is not None else None), created.context

    def publication(self) -> Publication:
        """The spans, the call's own begun."""
        if not self.create_spans:
            return Publication(spans=self.spans, span=self._span)
        return Publication(
            spans=self.spans, span=self.spans.start(self.operation, links=self._links), created=self._created
        )

    def _needs_span(self, message: Message) -> bool:
        if self.create_spans and (given := given_span(message.opts)):
            self._links.append(given)
        return self.create_spans and not is_settled(message.opts)

    def _create(self, message: Message) -> Created:
        span = self.spans.start(message.operation("create", SpanKind.PRODUCER, "create"), context=message.within)
        context = self.spans.within(span, message.within)
        if context is not None and (own := _span_context(context)):
            self._links.append(own)
        return Created(span=span, context=context, end_ns=time.time_ns())


def given_span(opts: Mapping[str, object]) -> SpanContext | None:
    """The span that the caller himself gave the job to travel with."""
    return _span_context(read(opts)) if metadata(opts) else None


@shielded
def _span_context(context: Context) -> SpanContext | None:
    return span_context(context)


def is_settled(opts: Mapping[str, object]) -> bool:
    """Whether the caller has said himself what is to travel with a job: something, or nothing."""
    return bool(metadata(opts)) or omits_context(opts)
