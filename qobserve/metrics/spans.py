"""Spans on their way out: how many the endpoint took, and how many were dropped, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from qobserve.metrics.family import Family, label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from qobserve.metrics.family import Samples

EXPORTED = Family("bullmq_exporter_spans_exported_total", "counter", "Spans that the OTLP endpoint took.", ())
DROPPED = Family(
    "bullmq_exporter_spans_dropped_total",
    "counter",
    "Spans that were not exported: the queue was full (queue_full), the endpoint refused them (refused), or it failed "
    "to take them again and again (failed).",
    ("reason",),
)
PENDING = Family("bullmq_exporter_spans_pending", "gauge", "Spans that wait to be exported.", ())
UP = Family("bullmq_exporter_spans_up", "gauge", "1 while the OTLP endpoint takes spans, 0 while it is in trouble.", ())
OF_SPANS = (EXPORTED, DROPPED, PENDING, UP)


class SpanCounts(Protocol):
    """What became of the spans."""

    @property
    def exported(self) -> int:
        """Taken by the endpoint."""

    @property
    def dropped(self) -> Mapping[str, int]:
        """Lost, by reason."""

    @property
    def pending(self) -> int:
        """Not sent yet."""

    @property
    def broken(self) -> bool:
        """Whether the endpoint is in trouble."""


def span_samples(counts: SpanCounts) -> Iterator[Samples]:
    """The families of a moment."""
    yield EXPORTED.samples([("", counts.exported)])
    yield DROPPED.samples((label("reason", reason), count) for reason, count in counts.dropped.items())
    yield PENDING.samples([("", counts.pending)])
    yield UP.samples([("", int(not counts.broken))])
