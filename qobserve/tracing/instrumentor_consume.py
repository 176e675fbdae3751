"""Jobs on their way through a worker: one span for each run."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from opentelemetry.context import create_key, get_value, set_value
from opentelemetry.trace import SpanKind

from qobserve.tracing.instrumentor_context import apart, options, read, span_context
from qobserve.tracing.instrumentor_shield import attached, detached, shielded
from qobserve.tracing.instrumentor_spans import Operation

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from qobserve.tracing.instrumentor_call import Call
    from qobserve.tracing.instrumentor_spans import Spans

_RUN = create_key("qobserve-run")


class Relation(StrEnum):
    """How a run's span stands to the span of the producer."""

    LINK = "link"
    PARENT = "parent"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    job: object
    span: Span


class Consumer:
    """Traces `Worker.processJob`, and hears of failures by `Job.moveToFailed`.

    The processor itself is not wrapped: BullMQ looks at its signature, and keeps the stack traces of its exceptions.
    """

    def __init__(self, spans: Spans, *, relation: Relation) -> None:
        self._spans = spans
        self._relation = relation

    async def process(self, call: Call) -> object:
        """One run of a job, with what BullMQ does at its end."""
        run, context = self._begun(call.instance, call.argument("job")) or (None, None)
        if run is None or context is None:
            return await call.make()
        token = attached(context)
        try:
            return await call.make()
        finally:
            detached(token)
            self._spans.end(run.span)

    async def failed(self, call: Call) -> object:
        """A run that failed, whether it will be tried again or not; a job that stepped aside does not come here."""
        self._note(call.instance, call.argument("err"))
        return await call.make()

    @shielded
    def _note(self, job: object, error: object) -> None:
        run = get_value(_RUN)
        if isinstance(run, _Run) and run.job is job and isinstance(error, BaseException):
            self._spans.fail(run.span, error)

    @shielded
    def _begun(self, worker: object, job: object) -> tuple[_Run, Context] | None:
        producer = read(options(getattr(job, "opts", None)))
        sender = span_context(producer)
        joins = self._relation is Relation.PARENT and _is_first(job)
        span = self._spans.start(
            _operation(worker, job),
            context=producer if joins else apart(producer),
            links=[] if joins or sender is None else [sender],
            linked="producer",
        )
        context = self._spans.within(span, producer)
        if span is None or context is None:
            return None
        run = _Run(job=job, span=span)
        return run, set_value(_RUN, run, context)


def _is_first(job: object) -> bool:
    """Whether this is the first run of a job that will not be back in another shape: else a trace could be endless."""
    return not getattr(job, "repeatJobKey", None) and getattr(job, "attemptsStarted", 0) <= 1


def _operation(worker: object, job: object) -> Operation:
    job_id, name = str(getattr(job, "id", "")), getattr(job, "name", None)
    return Operation(
        name="process",
        type="process",
        kind=SpanKind.CONSUMER,
        queue=str(getattr(worker, "name", "")),
        owner=worker,
        attributes={
            "messaging.message.id": job_id,
            "bullmq.job.id": job_id,
            "bullmq.job.name": None if name is None else str(name),
            "bullmq.job.attempts.made": getattr(job, "attemptsMade", None),
            "bullmq.job.attempts.started": getattr(job, "attemptsStarted", None),
            "bullmq.job.scheduler.id": getattr(job, "repeatJobKey", None),
            "bullmq.worker.id": getattr(worker, "id", None),
            "bullmq.worker.name": getattr(worker, "workerName", None),
        },
    )
