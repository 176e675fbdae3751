"""Snapshots: how long delayed work has been due, and what is gathered over servers."""

from __future__ import annotations

import pytest

from qobserve.model.keys import QueueId
from qobserve.model.snapshot import Problem, QueueSnapshot, ServerSnapshot, Snapshot
from qobserve.model.states import State

NOW = 1796035293012
ORDERS, MAIL = QueueId(b"bull", b"orders"), QueueId(b"bull", b"mail")


@pytest.mark.parametrize(
    ("due_ms", "jobs", "overdue"),
    [
        (NOW - 1500, {State.DELAYED: 1}, 1500),
        (NOW, {State.DELAYED: 1}, 0),
        (NOW + 1500, {State.DELAYED: 1}, 0),
        (None, {State.DELAYED: 0}, 0),
        (None, {State.DELAYED: 1}, None),
        (None, {}, None),
    ],
)
def test_overdue(due_ms: int | None, jobs: dict[State, int], overdue: int | None) -> None:
    assert QueueSnapshot(queue=ORDERS, jobs=jobs, due_ms=due_ms).overdue_ms(NOW) == overdue


def test_queues_and_problems_of_all_servers() -> None:
    of_server = Problem(part="redis_safety", queue=None, what="NOPERM")
    of_queue = Problem(part="depth", queue=MAIL, what="WRONGTYPE")
    orders = QueueSnapshot(queue=ORDERS, jobs={})
    mail = QueueSnapshot(queue=MAIL, jobs={}, problems=(of_queue,))
    snapshot = Snapshot(
        servers=(
            ServerSnapshot(now_ms=NOW, queues=(orders,), problems=(of_server,)),
            ServerSnapshot(now_ms=NOW + 1, queues=(mail,)),
        )
    )

    assert list(snapshot.queues()) == [orders, mail]
    assert list(snapshot.problems()) == [of_server, of_queue]
    assert (list(Snapshot().queues()), list(Snapshot().problems())) == ([], [])
