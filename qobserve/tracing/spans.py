"""From a run of a job to its spans; what they mean is in docs/tracing.md."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from qobserve.model.run import Outcome
from qobserve.tracing.attributes import ERROR_TYPE, attributes, destination, error_type
from qobserve.tracing.description import Kind, SpanDescription, SpanEvent, Status
from qobserve.tracing.ids import facts_of, span_id
from qobserve.tracing.kin import NOBODY
from qobserve.tracing.links import PROCESS, is_kept, links, place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.model.run import Run
    from qobserve.tracing.description import SpanLink
    from qobserve.tracing.kin import Kin
    from qobserve.tracing.links import Place
    from qobserve.tracing.options import SpanOptions

ADD = "add"
WAIT = "wait"
MOST_EVENTS = 100
"""Events of one span; the newest ones. An SDK's default limit is 128."""

_NS = 1_000_000  # nanoseconds in a millisecond
_EVENTS = {"stalled": "job stalled", "delayed": "job delayed", "progress": "job progress"}
_ENDS = {Outcome.STALLED: "stalled", Outcome.DELAYED: "delayed"}


class _Part(NamedTuple):
    operation: str
    kind: Kind
    start_ms: int
    end_ms: int


def spans_of(run: Run, options: SpanOptions, kin: Kin = NOBODY) -> list[SpanDescription]:
    """The spans of a run: `add` where the producer had no telemetry of its own, `wait`, and `process`.

    Empty for a run that is not sampled, of which no span is known, or that ended before we began and whose adding is
    not known: whoever saw it being added has exported it, under ids that we cannot know.
    """
    facts = facts_of(run)
    if not (run.live or facts.lasting) or not is_kept(facts, options):
        return []
    where = place(facts, options)
    spans: list[SpanDescription] = []
    for part in _parts(run):
        above = where.producer or (spans[0].span_id if spans else None)
        spans.append(_span(run, options, where, above, part))
    linked = tuple(links(facts, options, kin, joined=where.producer is not None))
    return _with_events(_with_end(spans, run, linked), run)


def _parts(run: Run) -> Iterator[_Part]:
    for operation, kind, moments in (
        (ADD, Kind.PRODUCER, _adding(run)),
        (WAIT, Kind.INTERNAL, _waiting(run)),
        (PROCESS, Kind.CONSUMER, _processing(run)),
    ):
        if moments is not None:
            yield _Part(operation, kind, *moments)


def _adding(run: Run) -> tuple[int, int] | None:
    """When the job was added, where the hash shows that no producer traced it: a moment, which is all that is known."""
    card = run.card
    traced = card is None or card.traceparent is not None or card.omits_context
    return None if traced or run.attempt != 1 or run.added_ms is None else (run.added_ms, run.added_ms)


def _waiting(run: Run) -> tuple[int, int] | None:
    if run.started_ms is not None:
        return None if run.ready_ms is None else (run.ready_ms, run.started_ms)
    if run.outcome is Outcome.FAILED:
        return run.ended_ms if run.ready_ms is None else run.ready_ms, run.ended_ms
    return (run.ready_ms, run.ended_ms) if run.outcome is Outcome.REMOVED and run.ready_ms is not None else None


def _processing(run: Run) -> tuple[int, int] | None:
    return None if run.started_ms is None else (run.started_ms, run.ended_ms)


def _span(run: Run, options: SpanOptions, where: Place, above: int | None, part: _Part) -> SpanDescription:
    return SpanDescription(
        trace_id=where.trace_id,
        span_id=span_id(facts_of(run), part.operation, options.server),
        parent_span_id=above,
        name=f"{part.operation} {destination(run)}",
        kind=part.kind,
        start_ns=part.start_ms * _NS,
        end_ns=max(part.start_ms, part.end_ms) * _NS,  # a server that took over may have a clock that is behind
        attributes=attributes(run, options, part.operation),
        trace_state=where.trace_state,
    )


def _with_end(spans: list[SpanDescription], run: Run, linked: tuple[SpanLink, ...]) -> list[SpanDescription]:
    """The last span of a run tells how it ended, and has its links."""
    if not spans or spans[-1].kind is Kind.PRODUCER:
        return spans
    last = replace(spans[-1], links=linked)
    error = error_type(run)
    if error is not None:
        last = replace(last, status=Status.ERROR, attributes={**last.attributes, ERROR_TYPE: error})
    return [*spans[:-1], last]


def _with_events(spans: list[SpanDescription], run: Run) -> list[SpanDescription]:
    """Each event goes to the last span that had begun by then."""
    if not run.notes and run.outcome not in _ENDS:
        return spans
    told = [(_EVENTS[note.kind], note.ms * _NS) for note in run.notes if note.kind in _EVENTS]
    end = _ENDS.get(run.outcome)
    if end is not None and all(note.kind != end for note in run.notes):
        told.append((_EVENTS[end], run.ended_ms * _NS))
    begun = [max((n for n, span in enumerate(spans) if span.start_ns <= ns), default=0) for _, ns in told]
    of_span = [[event for event, at in zip(told, begun, strict=True) if at == n] for n in range(len(spans))]
    return [replace(span, events=_events(of)) if of else span for span, of in zip(spans, of_span, strict=True)]


def _events(told: list[tuple[str, int]]) -> tuple[SpanEvent, ...]:
    return tuple(SpanEvent(name=name, ns=ns) for name, ns in told[-MOST_EVENTS:])
