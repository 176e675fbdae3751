"""Where a run's spans go, and which other spans they are linked to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qobserve.tracing.attributes import LINK
from qobserve.tracing.description import SpanLink
from qobserve.tracing.ids import job_half, span_id, trace_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.tracing.ids import Facts
    from qobserve.tracing.kin import Kin
    from qobserve.tracing.options import SpanOptions

PROCESS = "process"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The trace that a run's spans belong to, and the producer's span above them where they join its trace."""

    trace_id: int
    producer: int | None = None
    trace_state: str | None = None


def place(facts: Facts, options: SpanOptions) -> Place:
    """Where a run's spans go: into the producer's trace if it may, or into one of their own."""
    producer = facts.producer
    if producer and may_join(facts, options):
        state = facts.card.tracestate if facts.card else None
        return Place(trace_id=producer.trace_id, producer=producer.span_id, trace_state=state)
    return Place(trace_id=trace_id(facts, options.server))


def may_join(facts: Facts, options: SpanOptions) -> bool:
    """Whether a run joins its producer's trace, if there is one; later runs and iterations do not: it would not end."""
    return options.relation == "parent" and facts.first and not is_iteration(facts)


def is_iteration(facts: Facts) -> bool:
    """Whether a scheduler made the job: its context is then that of the first iteration's producer, copied on."""
    return facts.iteration_ms is not None or (facts.card is not None and facts.card.scheduler is not None)


def is_kept(facts: Facts, options: SpanOptions) -> bool:
    """Whether a run is traced: the producer's decision, and the ratio.

    All runs of a job are kept or dropped together, by the producer's trace if it has one.
    """
    producer = None if is_iteration(facts) else facts.producer
    if producer is None:
        return options.keeps(job_half(facts, options.server))
    return producer.sampled and options.keeps(producer.trace_id)


def links(facts: Facts, options: SpanOptions, kin: Kin, *, joined: bool) -> Iterator[SpanLink]:
    """The links of a run's last span: to the producer whose trace it has not joined, and to other runs' `process`."""
    producer = facts.producer
    if producer and producer.sampled and not joined:
        yield SpanLink(
            trace_id=producer.trace_id,
            span_id=producer.span_id,
            trace_state=facts.card.tracestate if facts.card else None,
            attributes={LINK: "producer"},
        )
    for relation, other in _relatives(facts, kin):
        if is_kept(other, options) and (options.relation == "link" or other.card is not None):
            where = place(other, options)
            yield SpanLink(
                trace_id=where.trace_id,
                span_id=span_id(other, PROCESS, options.server),
                trace_state=where.trace_state,
                attributes={LINK: relation},
            )


def _relatives(facts: Facts, kin: Kin) -> Iterator[tuple[str, Facts]]:
    earlier = _earlier_run(facts, kin)
    if earlier is not None:
        yield "earlier attempt", earlier
    if facts.scheduler is not None:
        iteration = kin.earlier_iteration(facts.scheduler)
        if iteration is not None and (iteration.iteration_ms or 0) < (facts.iteration_ms or 0):
            yield "earlier iteration", iteration
    parent = kin.job(facts.card.parent) if facts.card and facts.card.parent else None
    if parent is not None:
        yield "parent", parent
    for child in kin.children(facts.key):
        yield "child", child


def _earlier_run(facts: Facts, kin: Kin) -> Facts | None:
    """The run before, which needs no memory where the ids rest on what everybody knows."""
    if facts.lasting and facts.attempt is not None:
        return replace(facts, attempt=facts.attempt - 1) if facts.attempt > 1 else None
    return kin.earlier_run(facts.key)
