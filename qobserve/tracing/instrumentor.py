"""The OpenTelemetry instrumentation of the `bullmq` package: docs/instrumentation.md."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, TypeAlias

from opentelemetry import trace
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor  # type: ignore[attr-defined]  # it hides its types

from qobserve import __version__
from qobserve.tracing.instrumentor_call import Patch
from qobserve.tracing.instrumentor_consume import Consumer, Relation
from qobserve.tracing.instrumentor_flow import FlowPublisher
from qobserve.tracing.instrumentor_publish import Publisher
from qobserve.tracing.instrumentor_spans import Spans

if TYPE_CHECKING:
    from collections.abc import Collection

    from opentelemetry.trace import TracerProvider

    Option: TypeAlias = TracerProvider | Relation | str | bool | None

_SCHEMA_URL = "https://opentelemetry.io/schemas/1.30.0"
_RELATION = "OTEL_PYTHON_BULLMQ_RELATION"
_CREATE_SPANS = "OTEL_PYTHON_BULLMQ_CREATE_SPANS"

_log = logging.getLogger("qobserve.tracing")


class BullMQInstrumentor(BaseInstrumentor):  # type: ignore[misc]  # likewise
    """Gives an application that uses BullMQ for Python spans of its jobs, joined to those of BullMQ for Node.js.

    `instrument()` takes, beside what every instrumentor takes:
        tracer_provider: Instead of the global one.
        relation: `link` (default) or `parent`, of a run to its producer (OTEL_PYTHON_BULLMQ_RELATION).
        create_spans: Whether each job of a bulk or flow has a span of its own (OTEL_PYTHON_BULLMQ_CREATE_SPANS; true).
    """

    relation: Relation | None = None
    """What is in force; None while nothing is instrumented."""

    _patches: tuple[Patch, ...] = ()

    def instrumentation_dependencies(self) -> Collection[str]:
        """What must be installed for this to be of use."""
        return ("bullmq >= 3.4.4, < 4",)

    def _instrument(self, **kwargs: Option) -> None:
        from bullmq import (  # type: ignore[import-untyped]  # noqa: PLC0415  # where it is missing, this can be loaded
            FlowProducer,
            Job,
            JobScheduler,
            Queue,
            Worker,
        )

        provider = kwargs.get("tracer_provider")
        spans = Spans(
            trace.get_tracer("qobserve.tracing.instrumentor", __version__, provider, schema_url=_SCHEMA_URL)  # type: ignore[arg-type]  # as documented
        )
        create_spans = _create_spans(kwargs.get("create_spans"))
        publisher = Publisher(spans, create_spans=create_spans)
        flows = FlowPublisher(spans, create_spans=create_spans)
        self.relation = _relation(kwargs.get("relation"))
        consumer = Consumer(spans, relation=self.relation)
        self._patches = (
            Patch(Queue, "add", publisher.add),
            Patch(Queue, "addBulk", publisher.add_bulk),
            Patch(JobScheduler, "upsertJobScheduler", publisher.upsert_scheduler),
            Patch(FlowProducer, "add", flows.add),
            Patch(FlowProducer, "addBulk", flows.add_bulk),
            Patch(Worker, "processJob", consumer.process),
            Patch(Job, "moveToFailed", consumer.failed),
        )
        for patch in self._patches:
            patch.install()

    def _uninstrument(self, **_kwargs: Option) -> None:
        for patch in self._patches:
            patch.remove()
        self._patches = ()
        self.relation = None


def _relation(given: Option) -> Relation:
    """What was given in code must be right; what the environment says may not stop an application."""
    if given is not None:
        return Relation(str(given))
    text = os.environ.get(_RELATION, "").strip().lower() or Relation.LINK
    if text in set(Relation):
        return Relation(text)
    _log.warning("The value is neither link nor parent; link is used", extra={"variable": _RELATION, "value": text})
    return Relation.LINK


def _create_spans(given: Option) -> bool:
    if given is not None:
        return bool(given)
    return os.environ.get(_CREATE_SPANS, "").strip().lower() not in {"false", "0", "no"}
