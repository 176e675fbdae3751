"""Rate limits: what is in Redis, and what only the workers know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.limits import concurrency_limit, rate_limited_ms
from qobserve.model.reply import Fault
from qobserve.model.states import State

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

BY_HAND = b"9007199254740991"
NOPERM = Fault("NOPERM this user has no permissions to run the 'pttl' command")
READY = {State.WAITING: 3, State.PRIORITIZED: 0, State.ACTIVE: 0}
URGENT = {State.WAITING: 0, State.PRIORITIZED: 1, State.ACTIVE: 0}
RUNNING = {State.WAITING: 3, State.PRIORITIZED: 0, State.ACTIVE: 1}
IDLE = {State.WAITING: 0, State.PRIORITIZED: 0, State.ACTIVE: 0}


@pytest.mark.parametrize(
    ("counter", "ttl", "maximum", "jobs", "expected"),
    [
        pytest.param(None, -2, None, READY, 0, id="no window"),
        pytest.param(b"3", -1, None, READY, 0, id="a counter that never ends is no window"),
        pytest.param(BY_HAND, 3_599_000, None, RUNNING, 3_599_000, id="by hand, without a global limit"),
        pytest.param(BY_HAND, 3_599_000, b"10", RUNNING, 3_599_000, id="by hand, with a global limit"),
        pytest.param(BY_HAND, 500, b"9999999999999999999", IDLE, 500, id="by hand, with a limit beyond reach"),
        pytest.param(b"9", 700, b"10", READY, 0, id="global limit not reached"),
        pytest.param(b"10", 700, b"10", RUNNING, 700, id="global limit reached"),
        pytest.param(b"11", 700, b"10", IDLE, 700, id="global limit passed"),
        pytest.param(b"3", 700, None, READY, 700, id="a worker's limit: work waits and none of it runs"),
        pytest.param(b"3", 700, None, URGENT, 700, id="a worker's limit: prioritized work waits"),
        pytest.param(b"3", 700, None, RUNNING, None, id="a worker's limit, and jobs run: open"),
        pytest.param(b"3", 700, None, IDLE, None, id="a worker's limit, and nothing to run: open"),
        pytest.param(b"3", 700, None, {}, None, id="a worker's limit, and no counts: open"),
        pytest.param(NOPERM, 700, b"10", READY, None, id="counter refused"),
        pytest.param(b"10", NOPERM, b"10", READY, None, id="window refused"),
    ],
)
def test_for_how_long_no_job_is_taken(
    counter: Reply, ttl: Reply, maximum: Reply, jobs: dict[State, int], expected: int | None
) -> None:
    assert rate_limited_ms(counter, ttl, maximum, jobs) == expected


@pytest.mark.parametrize(
    ("field", "limit"), [(b"5", 5), (b"0", 0), (b"-1", 0), (None, None), (b"five", None), (NOPERM, None)]
)
def test_the_global_concurrency(field: Reply, limit: int | None) -> None:
    assert concurrency_limit(field) == limit
