"""Runs of jobs as spans: whole lists, with the ids that every instance has to give them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.model.keys import queue_id
from qobserve.model.run import Card, Note, Outcome, Run
from qobserve.tracing.attributes import ATTRIBUTES
from qobserve.tracing.description import Kind, SpanDescription, SpanEvent, SpanLink, Status
from qobserve.tracing.options import SpanOptions
from qobserve.tracing.spans import MOST_EVENTS, spans_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.tracing.description import AttributeValue

MS = 1_000_000
T = 1_796_035_293_000
TRACED = Card(name="welcome", traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate="a=1")
THEIR_TRACE, THEIR_SPAN = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331
LINK = SpanOptions()
PARENT = SpanOptions(relation="parent")
PLAIN = Run(
    queue=queue_id("bull", "mail"),
    job="7",
    live=True,
    outcome=Outcome.COMPLETED,
    ended_ms=T + 900,
    attempt=1,
    added_ms=T,
    ready_ms=T + 100,
    started_ms=T + 400,
    name="welcome",
    card=Card(name="welcome"),
)


def run(**changes: Any) -> Run:  # noqa: ANN401 - any field of a run
    """The plain run, with some things otherwise."""
    return replace(PLAIN, **changes)


def common(operation: str) -> dict[str, AttributeValue]:
    """The attributes of all spans of the plain run."""
    return {
        "messaging.system": "bullmq",
        "messaging.destination.name": "mail",
        "messaging.operation.name": operation,
        "messaging.message.id": "7",
        "bullmq.queue.name": "mail",
        "bullmq.queue.prefix": "bull",
        "bullmq.queue.operation": operation,
        "bullmq.job.id": "7",
        "bullmq.job.name": "welcome",
    }


def outline(spans: Sequence[SpanDescription]) -> list[str]:
    """Each span by its name, its place in the tree, its moments and its end."""
    names = {span.span_id: span.name.split()[0] for span in spans}
    return [
        f"{span.name} < {names.get(span.parent_span_id or 0, span.parent_span_id)}: "
        f"{span.start_ns // MS - T}..{span.end_ns // MS - T} {span.attributes.get('error.type', '')}".strip()
        for span in spans
    ]


def test_nothing_instrumented() -> None:
    trace = 0xB4F854F65DFB66B8509690C99B46042C
    assert spans_of(PLAIN, SpanOptions(server_address="redis.example", server_port=6379)) == [
        SpanDescription(
            trace_id=trace,
            span_id=0xD866D0827884C8BA,
            parent_span_id=None,
            name="add mail",
            kind=Kind.PRODUCER,
            start_ns=T * MS,
            end_ns=T * MS,
            attributes={
                **common("add"),
                "messaging.operation.type": "send",
                "server.address": "redis.example",
                "server.port": 6379,
            },
        ),
        SpanDescription(
            trace_id=trace,
            span_id=0x8A3C409573C64E73,
            parent_span_id=0xD866D0827884C8BA,
            name="wait mail",
            kind=Kind.INTERNAL,
            start_ns=(T + 100) * MS,
            end_ns=(T + 400) * MS,
            attributes={
                **common("wait"),
                "server.address": "redis.example",
                "server.port": 6379,
                "bullmq.job.attempts.started": 1,
                "bullmq.job.outcome": "completed",
            },
        ),
        SpanDescription(
            trace_id=trace,
            span_id=0xAB6A364D0ED4B1A4,
            parent_span_id=0xD866D0827884C8BA,
            name="process mail",
            kind=Kind.CONSUMER,
            start_ns=(T + 400) * MS,
            end_ns=(T + 900) * MS,
            attributes={
                **common("process"),
                "messaging.operation.type": "process",
                "server.address": "redis.example",
                "server.port": 6379,
                "bullmq.job.attempts.started": 1,
                "bullmq.job.outcome": "completed",
                "bullmq.job.processed.timestamp": T + 400,
                "bullmq.job.attempt_finished_timestamp": T + 900,
            },
        ),
    ]


def test_a_second_attempt_that_fails_behind_a_producer_that_traces() -> None:
    card = replace(TRACED, worker="w1", attempts_started=2)
    last = run(attempt=2, outcome=Outcome.FAILED, error="TypeError", card=card, ready_ms=None)
    assert spans_of(last, LINK) == [
        SpanDescription(
            trace_id=0x2AB94FED910F20973A566B7548428A60,
            span_id=0x348B0857E5D08E50,
            parent_span_id=None,
            name="process mail",
            kind=Kind.CONSUMER,
            start_ns=(T + 400) * MS,
            end_ns=(T + 900) * MS,
            attributes={
                **common("process"),
                "messaging.operation.type": "process",
                "error.type": "TypeError",
                "bullmq.job.attempts.started": 2,
                "bullmq.job.outcome": "failed",
                "bullmq.job.processed.timestamp": T + 400,
                "bullmq.job.attempt_finished_timestamp": T + 900,
                "bullmq.worker.name": "w1",
            },
            status=Status.ERROR,
            links=(
                SpanLink(
                    trace_id=THEIR_TRACE,
                    span_id=THEIR_SPAN,
                    trace_state="a=1",
                    attributes={"bullmq.link": "producer"},
                ),
                SpanLink(
                    trace_id=0x1CCDB9CA1F28FDA13A566B7548428A60,
                    span_id=0xDA703413E5231F21,
                    attributes={"bullmq.link": "earlier attempt"},
                ),
            ),
        )
    ]


def test_the_link_to_the_earlier_attempt_leads_to_its_span() -> None:
    first, second = run(outcome=Outcome.RETRIED), run(attempt=2)
    (link,) = spans_of(second, LINK)[-1].links
    process = spans_of(first, LINK)[-1]
    assert (link.trace_id, link.span_id) == (process.trace_id, process.span_id)
    assert process.name == "process mail"


def test_by_link_the_run_has_a_trace_of_its_own() -> None:
    spans = spans_of(run(card=TRACED), LINK)
    assert outline(spans) == ["wait mail < None: 100..400", "process mail < wait: 400..900"]
    assert THEIR_TRACE not in {span.trace_id for span in spans}
    assert [[link.span_id for link in span.links] for span in spans] == [[], [THEIR_SPAN]]
    assert {span.trace_state for span in spans} == {None}


def test_by_parent_the_first_run_joins_the_producers_trace() -> None:
    spans = spans_of(run(card=TRACED), PARENT)
    assert outline(spans) == [f"wait mail < {THEIR_SPAN}: 100..400", f"process mail < {THEIR_SPAN}: 400..900"]
    assert {(span.trace_id, span.trace_state, span.links) for span in spans} == {(THEIR_TRACE, "a=1", ())}


def test_by_parent_a_later_run_has_its_own_trace_and_links_into_the_producers() -> None:
    (*_, first), (*_, second) = spans_of(run(card=TRACED), PARENT), spans_of(run(card=TRACED, attempt=2), PARENT)
    assert second.trace_id not in {THEIR_TRACE, 0}
    assert [(link.trace_id, link.span_id, link.trace_state) for link in second.links] == [
        (THEIR_TRACE, THEIR_SPAN, "a=1"),
        (THEIR_TRACE, first.span_id, "a=1"),
    ]


def test_an_iteration_of_a_scheduler_never_joins_a_trace() -> None:
    iteration = run(job="repeat:nightly:1796035293000", card=replace(TRACED, scheduler="nightly"))
    spans = spans_of(iteration, PARENT)
    assert {span.trace_id for span in spans}.isdisjoint({THEIR_TRACE})
    assert [link.span_id for link in spans[-1].links] == [THEIR_SPAN]
    assert spans[-1].attributes["bullmq.job.scheduler.id"] == "nightly"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["add mail < None: 0..0", "wait mail < add: 100..400", "process mail < add: 400..900"]),
        ({"card": None}, ["wait mail < None: 100..400", "process mail < wait: 400..900"]),
        (
            {"card": Card(omits_context=True)},
            ["wait mail < None: 100..400", "process mail < wait: 400..900"],
        ),
        (
            {"card": replace(TRACED, omits_context=True)},
            ["wait mail < None: 100..400", "process mail < wait: 400..900"],
        ),
        ({"ready_ms": None}, ["add mail < None: 0..0", "process mail < add: 400..900"]),
        ({"added_ms": None}, ["wait mail < None: 100..400", "process mail < wait: 400..900"]),
        ({"added_ms": None, "ready_ms": None}, ["process mail < None: 400..900"]),
        ({"attempt": 2}, ["wait mail < None: 100..400", "process mail < wait: 400..900"]),
        ({"attempt": None}, ["wait mail < None: 100..400", "process mail < wait: 400..900"]),
        (
            {"outcome": Outcome.REMOVED, "started_ms": None},
            ["add mail < None: 0..0", "wait mail < add: 100..900"],
        ),
        ({"outcome": Outcome.REMOVED, "started_ms": None, "ready_ms": None}, ["add mail < None: 0..0"]),
        (
            {"outcome": Outcome.FAILED, "started_ms": None, "card": None},
            ["wait mail < None: 100..900 _OTHER"],
        ),
        (
            {"outcome": Outcome.FAILED, "started_ms": None, "ready_ms": None, "card": None},
            ["wait mail < None: 900..900 _OTHER"],
        ),
        ({"started_ms": None, "card": None}, []),  # its start is not known, and so neither is the end of its wait
        (
            {"ended_ms": T + 300, "card": None},
            ["wait mail < None: 100..400", "process mail < wait: 400..400"],
        ),
    ],
)
def test_a_span_is_there_where_its_moments_are_known(changes: dict[str, Any], expected: list[str]) -> None:
    assert outline(spans_of(run(**changes), LINK)) == expected


@pytest.mark.parametrize(
    ("outcome", "error", "status", "kind"),
    [
        (Outcome.COMPLETED, None, Status.UNSET, None),
        (Outcome.COMPLETED, "TypeError", Status.UNSET, None),
        (Outcome.FAILED, "TypeError", Status.ERROR, "TypeError"),
        (Outcome.FAILED, None, Status.ERROR, "_OTHER"),
        (Outcome.RETRIED, "requests.exceptions.Timeout", Status.ERROR, "requests.exceptions.Timeout"),
        (Outcome.RETRIED, "$Error_2", Status.ERROR, "_OTHER"),
        (Outcome.RETRIED, "card 4111 declined", Status.ERROR, "_OTHER"),
        (Outcome.RETRIED, "E" * 129, Status.ERROR, "_OTHER"),
        (Outcome.RETRIED, "Error\n", Status.ERROR, "_OTHER"),
        (Outcome.STALLED, "TypeError", Status.ERROR, "stalled"),
        (Outcome.DELAYED, None, Status.UNSET, None),
        (Outcome.WAITING_CHILDREN, None, Status.UNSET, None),
        (Outcome.REMOVED, None, Status.UNSET, None),
    ],
)
def test_a_failure_is_an_error_by_its_class(
    outcome: Outcome, error: str | None, status: Status, kind: str | None
) -> None:
    *others, last = spans_of(run(outcome=outcome, error=error), LINK)
    assert (last.status, last.attributes.get("error.type")) == (status, kind)
    assert last.attributes["bullmq.job.outcome"] == outcome.value
    assert [(span.status, span.attributes.get("error.type")) for span in others] == [(Status.UNSET, None)] * 2


def test_each_event_is_on_the_span_that_had_begun_last() -> None:
    notes = [
        ("delayed", 0),
        ("delayed", 150),
        ("progress", 400),
        ("stalled", 500),
        ("said-who", 600),
        ("progress", 950),
    ]
    spans = spans_of(run(notes=tuple(Note(kind=kind, ms=T + ms) for kind, ms in notes)), LINK)
    assert [[(event.name, event.ns // MS - T) for event in span.events] for span in spans] == [
        [("job delayed", 0)],
        [("job delayed", 150)],
        [("job progress", 400), ("job stalled", 500), ("job progress", 950)],
    ]


@pytest.mark.parametrize(("outcome", "name"), [(Outcome.STALLED, "stalled"), (Outcome.DELAYED, "delayed")])
def test_an_end_that_is_an_event_is_told_once(outcome: Outcome, name: str) -> None:
    expected = (SpanEvent(name=f"job {name}", ns=(T + 900) * MS),)
    assert spans_of(run(outcome=outcome), LINK)[-1].events == expected
    assert spans_of(run(outcome=outcome, notes=(Note(kind=name, ms=T + 900),)), LINK)[-1].events == expected


def test_a_span_has_its_newest_events_only() -> None:
    notes = tuple(Note(kind="progress", ms=T + 400 + n) for n in range(MOST_EVENTS + 5))
    events = spans_of(run(notes=notes), LINK)[-1].events
    assert (len(events), events[0].ns) == (MOST_EVENTS, (T + 405) * MS)


def unsampled(card: Card) -> Card:
    """The same, of a producer whose trace is not recorded."""
    return replace(card, traceparent=(card.traceparent or "")[:-1] + "0")


@pytest.mark.parametrize("options", [LINK, PARENT])
@pytest.mark.parametrize("attempt", [1, 2, None])
def test_a_job_of_an_unsampled_trace_has_no_spans(options: SpanOptions, attempt: int | None) -> None:
    assert spans_of(run(card=unsampled(TRACED), attempt=attempt), options) == []


def test_an_iteration_is_traced_whatever_became_of_the_trace_that_made_the_scheduler() -> None:
    card = replace(unsampled(TRACED), scheduler="nightly")
    spans = spans_of(run(job="repeat:nightly:1796035293000", card=card), LINK)
    assert [(span.name, span.links) for span in spans] == [("wait mail", ()), ("process mail", ())]


def test_the_ratio_keeps_its_share_of_jobs_and_all_runs_of_one() -> None:
    options = SpanOptions(ratio=0.25)
    kept = [[bool(spans_of(run(job=str(job), attempt=n), options)) for n in (1, 2, 3)] for job in range(1000)]
    assert all(len(set(runs)) == 1 for runs in kept)
    assert 200 < sum(runs[0] for runs in kept) < 300
    assert spans_of(PLAIN, SpanOptions(ratio=0)) == []


@pytest.mark.parametrize("options", [SpanOptions(ratio=0.5), SpanOptions(ratio=0.5, relation="parent")])
@pytest.mark.parametrize(("low_half", "kept"), [("7fffffffffffffff", True), ("8000000000000000", False)])
def test_the_ratio_is_applied_to_the_producers_trace(options: SpanOptions, low_half: str, kept: bool) -> None:  # noqa: FBT001 - the expected value of a case
    card = Card(traceparent=f"00-ffffffffffffffff{low_half}-b7ad6b7169203331-01")
    assert bool(spans_of(run(card=card), options)) is kept


@pytest.mark.parametrize("options", [LINK, PARENT])
@pytest.mark.parametrize("card", [replace(TRACED, omits_context=True), replace(unsampled(TRACED), omits_context=True)])
def test_a_context_that_is_to_be_omitted_is_not_there(options: SpanOptions, card: Card) -> None:
    spans = spans_of(run(card=card), options)
    assert [(span.name, span.links) for span in spans] == [("wait mail", ()), ("process mail", ())]
    assert {span.trace_id for span in spans}.isdisjoint({THEIR_TRACE})


@pytest.mark.parametrize(("starts", "joined"), [(1, True), (2, False), (None, False)])
def test_by_parent_the_hash_may_tell_that_a_run_is_the_first(starts: int | None, joined: bool) -> None:  # noqa: FBT001 - the expected value of a case
    spans = spans_of(run(attempt=None, card=replace(TRACED, attempts_started=starts)), PARENT)
    assert {span.trace_id == THEIR_TRACE for span in spans} == {joined}


def test_a_past_run_whose_adding_is_not_known_was_told_by_others() -> None:
    assert spans_of(run(live=False, added_ms=None), LINK) == []
    assert len(spans_of(run(live=False), LINK)) == 3
    assert len(spans_of(run(live=False, added_ms=None, job="repeat:nightly:1796035293000"), LINK)) == 2


def test_a_worker_is_named_only_where_the_hash_still_speaks_of_this_run() -> None:
    def worker(**card: Any) -> object:  # noqa: ANN401 - any field of a card
        return spans_of(run(card=Card(worker="w1", **card)), LINK)[-1].attributes.get("bullmq.worker.name")

    assert [worker(attempts_started=1), worker(attempts_started=2), worker()] == ["w1", None, None]


TEXTS = st.text(max_size=20) | st.just("\ud800") | st.just("x" * 5000)
MOMENTS = st.none() | st.integers(T - 5, T + 5)
CARDS = st.builds(
    Card,
    name=st.none() | TEXTS,
    timestamp_ms=MOMENTS,
    traceparent=st.sampled_from([None, TRACED.traceparent, "junk"]),
    omits_context=st.booleans(),
    parent=st.none() | TEXTS,
    scheduler=st.none() | TEXTS,
    worker=st.none() | TEXTS,
    attempts_started=st.none() | st.integers(1, 3),
)
RUNS = st.builds(
    Run,
    queue=st.builds(queue_id, st.just("bull"), st.text(st.characters(exclude_categories=["Cs"]), max_size=20)),
    job=TEXTS | st.just("repeat:nightly:1796035293000"),
    live=st.booleans(),
    outcome=st.sampled_from(Outcome),
    ended_ms=st.integers(T - 5, T + 5),
    attempt=st.none() | st.integers(1, 3),
    added_ms=MOMENTS,
    ready_ms=MOMENTS,
    started_ms=MOMENTS,
    name=st.none() | TEXTS,
    error=st.none() | TEXTS,
    card=st.none() | CARDS,
    notes=st.lists(st.builds(Note, kind=st.sampled_from(["stalled", "progress", "x"]), ms=st.just(T))).map(tuple),
)


@given(RUNS, st.sampled_from([LINK, PARENT]))
def test_whatever_a_run_is_its_spans_are_right_in_form_and_the_same_again(one: Run, options: SpanOptions) -> None:
    spans = spans_of(one, options)
    assert spans == spans_of(one, options)
    assert len({span.span_id for span in spans}) == len(spans)
    known = {attribute.name for attribute in ATTRIBUTES}
    for span in spans:
        assert 0 < span.trace_id < 2**128
        assert 0 < span.span_id < 2**64
        assert span.start_ns <= span.end_ns
        assert span.attributes.keys() <= known
        for value in (span.name, *span.attributes.values()):
            assert isinstance(value, str | int)
            assert len(str(value).encode()) < 7_000  # which raises where OTLP would: it is no UTF-8
