"""Traces end to end: real producers and workers, traced or not, and two tracers that send over HTTP and over gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.performance import RELATIONS, golden, perform
from rig.story import CASTS, QUEUES
from rig.told import OURS, job_of, queue_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rig.otlp_spans import ReceivedSpan
    from rig.performance import Performance

each_relation = pytest.mark.parametrize("relation", RELATIONS)
SENDING = ("add", "addNode", "create", "upsertJobScheduler")


@pytest.fixture(scope="module", params=CASTS, ids=lambda cast: cast.name)
def performance(request: pytest.FixtureRequest) -> Performance:
    """The story as each cast plays it, once for all tests."""
    return perform(request.param)


def runs(spans: Iterable[ReceivedSpan], operation: str = "process") -> dict[tuple[str, str, int], ReceivedSpan]:
    """Spans of this operation by queue, job and attempt; each is there once."""
    found: dict[tuple[str, str, int], ReceivedSpan] = {}
    for span in spans:
        attempt = span.attributes.get("bullmq.job.attempts.started", 1)
        if span.name.startswith(f"{operation} ") and isinstance(attempt, int):
            assert found.setdefault((queue_of(span), job_of(span), attempt), span) is span
    return found


def linked(span: ReceivedSpan, why: str) -> set[tuple[str, str]]:
    return {(link.trace_id, link.span_id) for link in span.links if link.attributes.get("bullmq.link") == why}


def senders(performance: Performance) -> dict[tuple[str, str], ReceivedSpan]:
    """The application's own span of each job's adding, where there is one."""
    sent = (span for span in performance.application if span.name.split(" ")[0] in SENDING)
    return {(queue_of(span), job_of(span)): span for span in sent if job_of(span)}


@each_relation
def test_the_list_of_spans_is_the_golden_one(performance: Performance, relation: str) -> None:
    # Meant to change? Write them anew (`cd tests && python -m rig.performance`) and read the difference.
    assert performance.text(relation) == golden(performance.cast, relation).read_text()


@each_relation
def test_who_was_traced_by_its_producer_joins_it_and_others_begin_with_a_span_of_ours(
    performance: Performance, relation: str
) -> None:
    sent, ours = senders(performance), performance.told[relation]
    added = {(queue, job) for queue, job, _ in runs(ours, "add")}
    told = runs(ours)
    assert {queue for queue, _, _ in told} == set(QUEUES)
    for (queue, job, attempt), span in told.items():
        producer = sent.get((queue, job))
        assert ((queue, job) in added) is (not performance.cast.producer_traced and producer is None)
        if producer is None:
            continue
        if relation == "parent" and attempt == 1 and queue != "ticks":
            assert (span.trace_id, span.parent_span_id) == (producer.trace_id, producer.span_id)
        else:
            assert linked(span, "producer") == {(producer.trace_id, producer.span_id)}
            assert span.trace_id != producer.trace_id


@each_relation
def test_no_trace_is_endless(performance: Performance, relation: str) -> None:
    """Further attempts and iterations have traces of their own, with a link to the one before."""
    told = runs(performance.told[relation])
    again = [(key, span) for key, span in told.items() if key[2] > 1]
    assert {job for (_, job, _), _ in again} == {"r-1", "r-2", "s-1"}
    for (queue, job, attempt), span in again:
        before = told[queue, job, attempt - 1]
        assert linked(span, "earlier attempt") == {(before.trace_id, before.span_id)}
        assert span.trace_id != before.trace_id
    first, second = (told[key] for key in sorted(key for key in told if key[0] == "ticks"))
    assert linked(second, "earlier iteration") == {(first.trace_id, first.span_id)}
    assert second.trace_id != first.trace_id


@each_relation
def test_a_flow_is_linked_both_ways(performance: Performance, relation: str) -> None:
    told = runs(performance.told[relation])
    parent, children = told["flow", "f-1", 1], [told["steps", job, 1] for job in ("c-1", "c-2")]
    assert linked(parent, "child") == {(child.trace_id, child.span_id) for child in children}
    for child in children:
        assert linked(child, "parent") == {(parent.trace_id, parent.span_id)}


@each_relation
def test_a_wait_ends_when_the_processing_begins(performance: Performance, relation: str) -> None:
    ours = performance.told[relation]
    waits, told = runs(ours, "wait"), runs(ours)
    assert waits.keys() == told.keys()
    assert all(waits[key].end_ns == told[key].start_ns for key in told)
    assert all(wait.start_ns <= wait.end_ns for wait in waits.values())


def test_both_tracers_give_the_same_run_the_same_span_id(performance: Performance) -> None:
    linking, joining = (runs(performance.told[relation]) for relation in RELATIONS)
    assert {key: span.span_id for key, span in linking.items()} == {key: span.span_id for key, span in joining.items()}


@each_relation
def test_every_span_is_told_once(performance: Performance, relation: str) -> None:
    told = performance.told[relation]
    assert len({span.span_id for span in told}) == len(told)
    assert {span.resource["service.name"] for span in told} == {OURS}
