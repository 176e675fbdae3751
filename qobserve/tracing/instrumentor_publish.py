"""Jobs on their way into a queue, one by one, many at once, or by a scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from opentelemetry.trace import SpanKind

from qobserve.tracing.instrumentor_context import headers_of, options, stamped
from qobserve.tracing.instrumentor_publication import Batch, Message, Publication, given_span, is_settled
from qobserve.tracing.instrumentor_shield import shielded
from qobserve.tracing.instrumentor_spans import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.tracing.instrumentor_call import Call
    from qobserve.tracing.instrumentor_spans import Attribute, Spans


class Publisher:
    """Traces `Queue.add`, `Queue.addBulk` and `JobScheduler.upsertJobScheduler`."""

    def __init__(self, spans: Spans, *, create_spans: bool) -> None:
        self._spans = spans
        self._create_spans = create_spans

    async def add(self, call: Call) -> object:
        """One job."""
        queue, opts = call.instance, call.argument("opts")
        message = _message(queue, call.argument("name"), options(opts))
        publication = message and self._single(call, message, "add")
        return await (publication.around(call.make, lambda job: [job]) if publication else call.make())

    async def upsert_scheduler(self, call: Call) -> object:
        """A scheduler, and with it the first job; a worker that adds the next one is not a producer."""
        if not call.argument("override", default=True):
            return await call.make()
        scheduler = getattr(call.instance, "queue", None)
        message = _message(scheduler, call.argument("job_name"), options(call.argument("opts")))
        which = {"bullmq.job.scheduler.id": str(call.argument("job_scheduler_id"))}
        publication = message and self._single(call, message, "upsertJobScheduler", **which)
        return await (publication.around(call.make, lambda job: [job]) if publication else call.make())

    async def add_bulk(self, call: Call) -> object:
        """Several jobs."""
        jobs: Sequence[object] = list(call.argument("jobs"))  # type: ignore[call-overload]  # fails as it would there
        call.give("jobs", jobs)
        publication = self._bulk(call, jobs)
        return await (publication.around(call.make, list) if publication else call.make())  # type: ignore[arg-type]  # a list of jobs

    @shielded
    def _single(self, call: Call, message: Message, name: str, **more: Attribute | None) -> Publication:
        given = given_span(message.opts)
        kind = SpanKind.CLIENT if given else SpanKind.PRODUCER
        span = self._spans.start(message.operation(name, kind, "send", **more), links=[given] if given else [])
        context = self._spans.within(span)
        if context is not None and not is_settled(message.opts) and (headers := headers_of(context)):
            call.give("opts", stamped(call.argument("opts"), headers))
        return Publication(spans=self._spans, span=span)

    @shielded
    def _bulk(self, call: Call, jobs: Sequence[object]) -> Publication:
        queue = call.instance
        operation = Operation(
            name="addBulk",
            type="send",
            kind=SpanKind.CLIENT if self._create_spans else SpanKind.PRODUCER,
            queue=str(getattr(queue, "name", "")),
            owner=queue,
            attributes={"messaging.batch.message_count": len(jobs), "bullmq.job.bulk.count": len(jobs)},
        )
        batch = Batch(spans=self._spans, operation=operation, create_spans=self._create_spans)
        batch.begin()
        call.give("jobs", [self._stamped(batch, queue, job) for job in jobs])
        return batch.publication()

    def _stamped(self, batch: Batch, queue: object, job: object) -> object:
        fields = options(job)
        message = _message(queue, fields.get("name"), options(fields.get("opts")))
        headers, _ = batch.stamp(message) if message else (None, None)
        return {**fields, "opts": stamped(fields.get("opts"), headers)} if headers and isinstance(job, Mapping) else job


@shielded
def _message(queue: object, name: object, opts: Mapping[str, object]) -> Message:
    defaults = options(getattr(queue, "jobsOpts", None))
    return Message(owner=queue, queue=str(getattr(queue, "name", "")), name=name, opts={**defaults, **opts})
