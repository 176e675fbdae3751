"""What a tracer makes of what a follower tells; above all what it leaves out after a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.keys import queue_id
from qobserve.model.run import Card, Counted, Outcome, Run, Started
from qobserve.tracing.options import SpanOptions
from qobserve.tracing.tracer import Tracer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from qobserve.model.keys import QueueId
    from qobserve.tracing.description import SpanDescription

QUEUE = queue_id("bull", "mail")
T = 1_796_035_293_000
UNTIL = T + 1_000
TRACED = Card(traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")


def run(
    job: str = "1", *, ended_ms: int = UNTIL, live: bool = False, attempt: int = 1, card: Card | None = None
) -> Run:
    return Run(
        queue=QUEUE, job=job, live=live, outcome=Outcome.COMPLETED, ended_ms=ended_ms, attempt=attempt, added_ms=T,
        ready_ms=T, started_ms=T, card=card,
    )  # fmt: skip


def told(
    value: Run | Started | Counted,
    relation: Literal["link", "parent"] = "parent",
    until: Callable[[QueueId], int | None] = lambda _: UNTIL,
) -> list[str]:
    spans: list[SpanDescription] = []
    tracer = Tracer(SpanOptions(relation=relation), spans.append, most=10, open_job=lambda _: None, told_until=until)
    tracer.take(value)
    return [span.name for span in spans]


def test_runs_alone_make_spans() -> None:
    assert told(run(live=True)) == ["wait mail", "process mail"]
    assert told(Started(queue=QUEUE, job="1", live=True, started_ms=T)) == []
    assert told(Counted(queue=QUEUE, kind="added")) == []


def test_what_an_earlier_life_may_have_told_in_the_producer_s_trace_is_left_out() -> None:
    assert told(run()) == []
    assert told(run(ended_ms=UNTIL - 1)) == []
    assert told(run(), until=lambda _: None) == []
    assert told(run(ended_ms=UNTIL + 1), until=lambda _: None) == []


@pytest.mark.parametrize(
    "sure",
    [
        run(ended_ms=UNTIL + 1),
        run(live=True),
        run(card=Card()),
        run(card=TRACED),
        run(attempt=2),
        run("repeat:tick:1796035293000"),
    ],
    ids=["ended later", "live", "its hash is there", "its producer is known", "a later run", "an iteration"],
)
def test_what_has_the_same_ids_for_everybody_is_told(sure: Run) -> None:
    assert told(sure)[-1] == "process mail"


def test_links_need_no_such_care() -> None:
    assert told(run(), "link") == ["wait mail", "process mail"]
    assert told(run(), "link", lambda _: None) == ["wait mail", "process mail"]
