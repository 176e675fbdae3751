"""One batch of spans through OpenTelemetry's exporter, and what became of it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace.export import SpanExportResult

from qobserve.tracing.delivery import Delivery
from qobserve.tracing.readable import readable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter

    from qobserve.tracing.description import SpanDescription

LOG = logging.getLogger("qobserve.tracing")


class Answers(Protocol):
    """What an exporter of the SDK does not tell: why a batch was not taken."""

    def forget(self) -> None:
        """A batch is about to be sent."""

    def heard(self, *, success: bool) -> Delivery | None:
        """What became of it; None when it never left us."""


class OtlpSender:
    """A `Sender` that exports spans of one resource; `stop` ends the exporter."""

    def __init__(
        self, exporter: SpanExporter, answers: Answers, *, resource: Resource, stop: Callable[[], None]
    ) -> None:
        self._exporter = exporter
        self._answers = answers
        self._resource = resource
        self._stop = stop
        self._closed = False

    def deliver(self, spans: Sequence[SpanDescription]) -> Delivery:
        """Try once; the exporter's own attempts, where it makes any, end with its timeout."""
        batch = [readable(span, self._resource) for span in spans]
        delivery = self._attempt(batch)
        return self._without_misfits(batch) if delivery is None else delivery

    def close(self) -> None:
        """End the exporter, which gives up what it is at."""
        if not self._closed:
            self._closed = True
            self._stop()

    def _attempt(self, batch: Sequence[ReadableSpan]) -> Delivery | None:
        self._answers.forget()
        try:
            result = self._exporter.export(batch)
        except Exception as exc:  # noqa: BLE001 - whatever an exporter of whichever version raises costs this batch only
            LOG.debug("the exporter raised", extra={"error": repr(exc)})
            result = SpanExportResult.FAILURE
        return self._answers.heard(success=result is SpanExportResult.SUCCESS)

    def _without_misfits(self, batch: Sequence[ReadableSpan]) -> Delivery:
        """Send what can be encoded: one span that cannot must not cost a whole batch."""
        fit = [span for span in batch if _can_be_encoded(span)]
        misfits = len(batch) - len(fit)
        error = f"{misfits} spans cannot be encoded"
        delivery = (self._attempt(fit) if fit else None) or Delivery(loss="failed", error=error)
        if delivery.loss is None:
            return Delivery(loss="failed", error=error, rejected=misfits)
        return delivery if delivery.rejected is None else replace(delivery, rejected=delivery.rejected + misfits)


def _can_be_encoded(span: ReadableSpan) -> bool:
    try:
        encode_spans([span]).SerializeToString()
    except (ValueError, TypeError, OverflowError):
        return False
    return True
