"""Flows, schedulers and runs before: links lead to spans that are exported, and to no others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from qobserve.model.keys import queue_id
from qobserve.model.run import Card, Outcome, Run
from qobserve.tracing.ids import Facts
from qobserve.tracing.kin import MOST_CHILDREN, Remembered
from qobserve.tracing.options import SpanOptions
from qobserve.tracing.spans import spans_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qobserve.tracing.description import SpanDescription

T = 1_796_035_293_000
LINK, PARENT = SpanOptions(), SpanOptions(relation="parent")
TRACED = Card(traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
UNSAMPLED = Card(traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")


def run(job: str, **changes: Any) -> Run:  # noqa: ANN401 - any field of a run
    """A run like any other."""
    plain = Run(
        queue=queue_id("bull", "mail"),
        job=job,
        live=True,
        outcome=Outcome.COMPLETED,
        ended_ms=T + 900,
        attempt=1,
        added_ms=T,
        ready_ms=T,
        started_ms=T + 400,
        card=Card(),
    )
    return replace(plain, **changes)


def told(runs: Iterable[Run], kin: Remembered, options: SpanOptions = LINK) -> list[SpanDescription]:
    """The last span of each run, in the order of their ends."""
    last = []
    for one in runs:
        last.append(spans_of(one, options, kin)[-1])
        kin.take(one)
    return last


def links(span: SpanDescription, spans: list[SpanDescription]) -> list[tuple[object, object]]:
    """What each link says it is, and the message of the span that it leads to."""
    known = {(one.trace_id, one.span_id): one.attributes["messaging.message.id"] for one in spans}
    return [
        (link.attributes["bullmq.link"], known.get((link.trace_id, link.span_id), "nothing")) for link in span.links
    ]


def flow_parent(key: str) -> Facts | None:
    """The parent of the flows below, as the fold of its queue knows it while it waits for its children."""
    return Facts(key=key, added_ms=T - 50) if key == "bull:mail:p" else None


CHILD = Card(parent="bull:mail:p")


def test_a_flow_is_linked_both_ways() -> None:
    runs = [run("c1", card=CHILD), run("c2", card=CHILD), run("p", added_ms=T - 50)]
    spans = told(runs, Remembered(10, flow_parent))
    assert [links(span, spans) for span in spans] == [
        [("parent", "p")],
        [("parent", "p")],
        [("child", "c1"), ("child", "c2")],
    ]


def test_a_child_that_failed_and_ran_again_is_linked_by_its_last_run() -> None:
    runs = [
        run("c1", card=CHILD, outcome=Outcome.RETRIED),
        run("c1", card=CHILD, attempt=2, outcome=Outcome.FAILED),
        run("p", added_ms=T - 50),
    ]
    spans = told(runs, Remembered(10, flow_parent))
    assert [links(span, spans) for span in spans] == [
        [("parent", "p")],
        [("earlier attempt", "c1"), ("parent", "p")],
        [("child", "c1")],
    ]
    assert spans[2].links[0].span_id == spans[1].span_id


def test_a_parent_that_stepped_aside_is_linked_by_the_run_that_made_the_children() -> None:
    runs = [
        run("p", outcome=Outcome.WAITING_CHILDREN),
        run("c1", card=CHILD),
        run("p", attempt=2),
        run("c2", card=CHILD),
    ]
    spans = told(runs, Remembered(10))
    assert [links(span, spans) for span in spans] == [
        [],
        [("parent", "p")],
        [("earlier attempt", "p"), ("child", "c1")],
        [],  # the parent has completed, and is forgotten
    ]
    assert spans[1].links[0].span_id == spans[0].span_id


def test_a_parent_links_no_more_children_than_an_sdk_takes() -> None:
    kin = Remembered(10)
    told((run(f"c{n}", card=CHILD) for n in range(MOST_CHILDREN + 5)), kin)
    (span,) = told([run("p")], kin)
    assert len(span.links) == MOST_CHILDREN
    assert kin.children("bull:mail:p") == ()


def test_a_parent_of_unknown_adding_is_not_linked() -> None:
    (span,) = told([run("c1", card=CHILD)], Remembered(10, lambda _: None))
    assert span.links == ()


def test_by_parent_a_link_needs_to_know_which_trace_the_other_joined() -> None:
    def known(key: str) -> Facts:
        return Facts(key=key, added_ms=T - 50, card=TRACED)

    (blind,) = told([run("c1", card=CHILD)], Remembered(10, flow_parent), PARENT)
    child, parent = told([run("c1", card=CHILD), run("p", added_ms=T - 50, card=TRACED)], Remembered(9, known), PARENT)
    assert blind.links == ()
    assert links(child, [child, parent]) == [("parent", "p")]
    assert child.links[0].trace_id == 0x0AF7651916CD43DD8448EB211C80319C


@pytest.mark.parametrize("options", [LINK, PARENT])
def test_a_job_that_is_not_traced_is_not_linked(options: SpanOptions) -> None:
    kin = Remembered(10)
    kin.take(run("c1", card=replace(UNSAMPLED, parent="bull:mail:p")))
    assert told([run("p")], kin, options)[0].links == ()


def test_an_iteration_is_linked_to_the_one_before() -> None:
    def iteration(n: int, **changes: Any) -> Run:  # noqa: ANN401 - any field of a run
        return run(f"repeat:s:{T + n}", **changes)

    runs = [
        iteration(1),
        iteration(3, outcome=Outcome.RETRIED),
        iteration(2),  # late: a later one has ended already
        iteration(3, attempt=2),
        iteration(4, attempt=None),
        run(f"repeat:other:{T + 5}"),
    ]
    spans = told(runs, Remembered(10))
    assert [links(span, spans) for span in spans] == [
        [],
        [("earlier iteration", f"repeat:s:{T + 1}")],
        [],
        [("earlier attempt", f"repeat:s:{T + 3}")],
        [("earlier iteration", f"repeat:s:{T + 3}")],
        [],
    ]
    assert spans[4].links[0].span_id == spans[3].span_id
    assert len({span.trace_id for span in spans}) == len(spans)


def test_runs_of_a_job_whose_adding_is_not_known_are_linked_from_memory() -> None:
    card = Card(timestamp_ms=T - 9)
    runs = [
        run("7", added_ms=None, attempt=None, card=card, outcome=Outcome.STALLED),
        run("7", added_ms=None, attempt=None, card=card, started_ms=T + 1000, ended_ms=T + 1100),
        run("7", added_ms=None, attempt=None, card=card, started_ms=T + 1200, ended_ms=T + 1300),
    ]
    spans = told(runs, Remembered(10))
    assert [links(span, spans) for span in spans] == [[], [("earlier attempt", "7")], []]
    assert spans[1].links[0].span_id == spans[0].span_id


def test_a_job_that_is_retried_by_hand_is_linked_to_its_failure() -> None:
    runs = [run("7", outcome=Outcome.FAILED), run("7", added_ms=None, attempt=None)]
    spans = told(runs, Remembered(10))
    assert [links(span, spans) for span in spans] == [[], [("earlier attempt", "7")]]


def test_what_was_touched_longest_ago_is_forgotten_first() -> None:
    kin = Remembered(2)
    for job in ("a", "b", "a", "c"):
        kin.take(run(job, outcome=Outcome.RETRIED))
    assert [kin.earlier_run(f"bull:mail:{job}") is not None for job in "abc"] == [True, False, True]
