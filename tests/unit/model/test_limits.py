"""Rate limits: what is in Redis, and what only the workers know."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.limits import concurrency_limit, rate_limited_ms
from qobserve.model.reply import Fault

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

BY_HAND = b"9007199254740991"
NOPERM = Fault("NOPERM this user has no permissions to run the 'pttl' command")
HELD, FREE = True, False


@pytest.mark.parametrize(
    ("counter", "ttl", "maximum", "held_back", "expected"),
    [
        pytest.param(None, -2, None, HELD, 0, id="no window"),
        pytest.param(b"3", -1, None, HELD, 0, id="a counter that never ends is no window"),
        pytest.param(BY_HAND, 3_599_000, None, FREE, 3_599_000, id="by hand, without a global limit"),
        pytest.param(BY_HAND, 3_599_000, b"10", FREE, 3_599_000, id="by hand, with a global limit"),
        pytest.param(BY_HAND, 500, b"9999999999999999999", FREE, 500, id="by hand, with a limit beyond reach"),
        pytest.param(b"9", 700, b"10", HELD, 0, id="global limit not reached"),
        pytest.param(b"10", 700, b"10", FREE, 700, id="global limit reached"),
        pytest.param(b"11", 700, b"10", FREE, 700, id="global limit passed"),
        pytest.param(b"3", 700, None, HELD, 700, id="a worker's limit: workers leave ready jobs alone"),
        pytest.param(b"3", 700, None, FREE, None, id="a worker's limit, and nothing shows it: open"),
        pytest.param(NOPERM, 700, b"10", HELD, None, id="counter refused"),
        pytest.param(b"10", NOPERM, b"10", HELD, None, id="window refused"),
    ],
)
def test_for_how_long_no_job_is_taken(
    counter: Reply,
    ttl: Reply,
    maximum: Reply,
    held_back: bool,  # noqa: FBT001 - a parameter of the test
    expected: int | None,
) -> None:
    assert rate_limited_ms(counter, ttl, maximum, held_back=held_back, busy=False) == expected


@pytest.mark.parametrize(("maximum", "expected"), [(None, None), (b"10", 500)])
def test_a_limit_by_hand_binds_workers_that_have_none_of_their_own_only_where_it_is_global(
    maximum: Reply, expected: int | None
) -> None:
    assert rate_limited_ms(BY_HAND, 500, maximum, held_back=False, busy=True) == expected


@pytest.mark.parametrize(
    ("field", "limit"), [(b"5", 5), (b"0", 0), (b"-1", 0), (None, None), (b"five", None), (NOPERM, None)]
)
def test_the_global_concurrency(field: Reply, limit: int | None) -> None:
    assert concurrency_limit(field) == limit
