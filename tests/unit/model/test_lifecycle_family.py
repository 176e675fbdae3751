"""Jobs of several queues that have to do with each other: who is told first, and what is known of the others."""

from __future__ import annotations

from qobserve.model.event import decode
from qobserve.model.keys import queue_id
from qobserve.model.lifecycle import Lifecycle
from qobserve.model.run import Card, Run

PARENTS, CHILDREN = queue_id("bull", "flow"), queue_id("bull", "steps")


def feed(lifecycle: Lifecycle, told: list[tuple[str, int]], job: bytes, *, parent: bool) -> None:
    entries = [[f"{ms}-0".encode(), [b"event", kind.encode(), b"jobId", job]] for kind, ms in told]
    events = [event for event in map(decode, entries) if event is not None]
    lifecycle.feed(PARENTS if parent else CHILDREN, events, counted_from_ms=0)


def brought_down() -> Lifecycle:
    """A child that fails and brings its parent down, read in one round, the parent's queue first."""
    lifecycle = Lifecycle(100, cards=True)
    feed(lifecycle, [("added", 1), ("waiting-children", 2)], b"whole", parent=True)
    feed(lifecycle, [("added", 1), ("waiting", 2), ("active", 3)], b"step", parent=False)
    for question in lifecycle.questions():
        lifecycle.answer(question, Card(attempts_started=1))
    feed(lifecycle, [("waiting", 6), ("active", 7), ("failed", 8), ("other", 9)], b"whole", parent=True)
    feed(lifecycle, [("failed", 5), ("other", 6)], b"step", parent=False)
    return lifecycle


def test_a_child_is_told_before_the_parent_that_it_brought_down() -> None:
    lifecycle = brought_down()
    lifecycle.questions()  # one round may bring what was written at once with the failures
    told = [one for question in lifecycle.questions() for one in lifecycle.answer(question, Card(attempts_started=1))]
    assert [one.job for one in told if isinstance(one, Run)] == ["step", "whole"]


def test_a_job_whose_end_has_yet_to_be_told_is_known() -> None:
    lifecycle = brought_down()
    known = lifecycle.open_job(PARENTS, b"whole")
    assert known is not None
    assert known.added_ms == 1
    assert lifecycle.open_jobs == 0
    for _ in range(2):
        for question in lifecycle.questions():
            lifecycle.answer(question, Card(attempts_started=1))
    assert lifecycle.open_job(PARENTS, b"whole") is None
