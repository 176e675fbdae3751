"""What is kept of the last page must print as if everything were printed anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from qobserve.metrics.collection import Collection
from qobserve.model.job import ReadyAt
from qobserve.model.keys import queue_id
from qobserve.model.snapshot import QueueSnapshot, ServerSnapshot, Snapshot
from qobserve.model.states import State

if TYPE_CHECKING:
    from collections.abc import Sequence

NOW = 1796035293012
JOBS = dict.fromkeys(State, 3)

queues = st.lists(
    st.tuples(st.sampled_from("abcd"), st.integers(0, 2), st.booleans()), max_size=4, unique_by=lambda each: each[0]
)
"""Queues by name, with one of three states each; False has everything of a queue but the object."""

_KNOWN: dict[tuple[str, int], QueueSnapshot] = {}


def snapshot_of(name: str, state: int, *, same: bool) -> QueueSnapshot:
    """A queue in one of some states; the very object of before if it is to be the same."""
    made = QueueSnapshot(
        queue=queue_id("bull", name),
        jobs=JOBS | {State.WAITING: state},
        waiting_since=ReadyAt(ms=NOW - 1000 * state, source="event", exact=True) if state else None,
        active_since_ms=NOW - 5,
        due_ms=NOW + 1500 * state,
        paused=state == 1,
        scheduler_count=0,
    )
    return _KNOWN.setdefault((name, state), made) if same else replace(made)


def printed(collection: Collection, page: Sequence[tuple[str, int, bool]], now_ms: int) -> list[tuple[str, str]]:
    seen = tuple(snapshot_of(name, state, same=same) for name, state, same in page)
    snapshot = Snapshot(servers=(ServerSnapshot(now_ms=now_ms, queues=seen),))
    return [(each.family.name, "".join(each.blocks)) for each in collection.collect(snapshot)]


@given(st.lists(queues, max_size=6))
def test_a_page_is_the_same_whatever_was_printed_before(pages: list[list[tuple[str, int, bool]]]) -> None:
    old = Collection(enabled={"drain": False}, slo=lambda _: None)  # drain is about what was before
    for number, page in enumerate(pages):
        new = Collection(enabled={"drain": False}, slo=lambda _: None)
        now_ms = NOW + 1000 * number
        assert [each for each in printed(old, page, now_ms) if "series_dropped" not in each[0]] == [
            each for each in printed(new, page, now_ms) if "series_dropped" not in each[0]
        ]
