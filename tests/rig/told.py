"""Spans as a text that can be compared: one line for each, with ids that count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rig.otlp_spans import ReceivedSpan

_MOMENT = re.compile(r"(repeat:\w+):([0-9]{13})")
_RANKS = {"wait": 1, "process": 2}
_FACTS = (
    *("bullmq.job.id", "bullmq.job.name", "bullmq.job.attempts.started", "bullmq.job.outcome", "error.type"),
    "bullmq.job.scheduler.id",
)
OURS = "qobserve"


def queue_of(span: ReceivedSpan) -> str:
    """The queue that a span speaks of."""
    return str(span.attributes.get("messaging.destination.name") or span.attributes.get("bullmq.queue.name"))


def job_of(span: ReceivedSpan) -> str:
    """The job that a span speaks of; empty where it is none."""
    return str(span.attributes.get("bullmq.job.id", ""))


def order(span: ReceivedSpan) -> tuple[str, str, int, str, int]:
    """Where a span stands in a list: by queue, job, operation, who sent it, and time."""
    rank = _RANKS.get(span.name.partition(" ")[0], 0)
    return queue_of(span), job_of(span), rank, str(span.resource["service.name"]), span.start_ns


class Printer:
    """Prints spans, and gives each trace and each span a number when it is first named."""

    def __init__(self) -> None:
        self._traces: dict[str, str] = {}
        self._spans: dict[str, str] = {}
        self._moments: dict[str, str] = {}

    def text(self, spans: Iterable[ReceivedSpan]) -> str:
        """All spans, in their order."""
        ordered = sorted(spans, key=order)
        for span in ordered:
            self._place(span.trace_id, span.span_id)
        return "".join(f"{line}\n" for span in ordered for line in self._lines(span))

    def _place(self, trace: str, span: str) -> str:
        numbered = self._traces.setdefault(trace, f"T{len(self._traces) + 1}")
        return f"{numbered}/{self._spans.setdefault(span, f'S{len(self._spans) + 1}')}"

    def _lines(self, span: ReceivedSpan) -> Iterable[str]:
        above = "" if span.parent_span_id is None else f" < {self._place(span.trace_id, span.parent_span_id)}"
        known = [name for name in _FACTS if name in span.attributes]
        facts = [f"{name.removeprefix('bullmq.job.')}={span.attributes[name]}" for name in known]
        head = f"{self._place(span.trace_id, span.span_id)}{above} {span.resource['service.name']}: {span.name}"
        yield self._countable(f"{head} [{span.kind}, {span.status}] {' '.join(facts)}".rstrip())
        for event in span.events:
            yield f"    event {event.name}"
        for link in span.links:
            why = link.attributes.get("bullmq.link")
            yield f"    link {self._place(link.trace_id, link.span_id)}{f' {why}' if why else ''}"

    def _countable(self, line: str) -> str:
        return _MOMENT.sub(
            lambda match: f"{match[1]}:{self._moments.setdefault(match[2], f'M{len(self._moments) + 1}')}", line
        )
