"""Shares of a scrape: bounded in all, deep where queues are few, and never nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qobserve.reader.budget import Budget, EventBudget, share
from qobserve.reader.questions import Windows

if TYPE_CHECKING:
    from collections.abc import Iterable


@pytest.mark.parametrize(
    ("queues", "budget"),
    [
        (0, Budget(windows=Windows(jobs=100, schedulers=20), hashes=100, payloads=30, active=16, events_kept=1000)),
        (1, Budget(windows=Windows(jobs=100, schedulers=20), hashes=100, payloads=30, active=16, events_kept=1000)),
        (100, Budget(windows=Windows(jobs=80, schedulers=20), hashes=20, payloads=10, active=10, events_kept=1000)),
        (1000, Budget(windows=Windows(jobs=8, schedulers=20), hashes=2, payloads=1, active=1, events_kept=100)),
        (100_000, Budget(windows=Windows(jobs=8, schedulers=20), hashes=2, payloads=1, active=1, events_kept=20)),
    ],
)
def test_shares(queues: int, budget: Budget) -> None:
    assert share(queues, schedulers=20) == budget


@given(st.integers(0, 10**6))
def test_more_queues_never_have_larger_shares(queues: int) -> None:
    before, after = share(queues, 20), share(queues + 1, 20)

    assert after.windows.jobs <= before.windows.jobs
    assert (after.hashes, after.payloads, after.active) <= (before.hashes, before.payloads, before.active)
    assert after.events_kept <= before.events_kept
    assert min(after.windows.jobs, after.hashes, after.payloads, after.active) >= 1


@given(st.integers(1, 1000))
def test_up_to_1000_queues_the_totals_hold(queues: int) -> None:
    budget = share(queues, 20)

    assert budget.hashes * queues <= 2000
    assert budget.windows.jobs * queues <= 8000
    assert budget.events_kept * queues <= 100_000


@given(st.integers(0, 10**6))
def test_as_many_events_are_kept_as_are_read_at_once(queues: int) -> None:
    assert share(queues, 20).events_kept >= EventBudget(queues).take(entry_bytes=0)


@pytest.mark.parametrize(
    ("queues", "each", "served"),
    [
        (0, 1000, 4),
        (1, 1000, 4),
        (4, 1000, 4),
        (5, 800, 5),
        (100, 40, 100),
        (400, 10, 400),
        (401, 10, 400),
        (100_000, 10, 400),
    ],
)
def test_entries_of_small_streams(queues: int, each: int, served: int) -> None:
    budget = EventBudget(queues, asking=queues)

    assert [budget.take(entry_bytes=100) for _ in range(queues)] == ([each] * served + [0] * queues)[:queues]


@pytest.mark.parametrize(
    ("turn", "served"),
    [
        (0, range(400)),
        (1, range(400, 800)),
        (2, [*range(200), *range(800, 1000)]),
        (3, range(200, 600)),
        (10**9 + 1, range(400, 800)),
    ],
)
def test_where_more_ask_than_can_be_served_they_are_served_by_turns(turn: int, served: Iterable[int]) -> None:
    budget = EventBudget(5000, turn=turn, asking=1000)
    taken = [budget.take(entry_bytes=100) for _ in range(1000)]

    assert [number for number, entries in enumerate(taken) if entries] == list(served)
    assert budget.asked == 1000


@given(asking=st.integers(1, 3000), start=st.integers(0, 10**6))
def test_every_queue_has_its_turn_in_as_few_scrapes_as_the_budget_allows(asking: int, start: int) -> None:
    rounds = -(-asking // 400)
    budgets = [EventBudget(5000, turn=start + turn, asking=asking) for turn in range(rounds)]

    for _ in range(asking):
        taken = [budget.take(0) for budget in budgets]
        assert any(taken)


@pytest.mark.parametrize(
    ("entry_bytes", "entries"), [(0, 1000), (100, 1000), (1048, 1000), (10_486, 99), (1 << 20, 1), (1 << 29, 1)]
)
def test_large_entries_are_read_in_small_numbers(entry_bytes: int, entries: int) -> None:
    assert EventBudget(1).take(entry_bytes) == entries


@given(
    queues=st.integers(0, 5000),
    turn=st.integers(0, 10**6),
    asking=st.integers(0, 5000),
    sizes=st.lists(st.integers(0, 1 << 30), max_size=300),
)
@example(queues=5000, turn=0, asking=400, sizes=[0] * 5000)
@example(queues=5000, turn=7, asking=3000, sizes=[0] * 5000)
def test_a_scrape_never_reads_more_entries_than_its_budget(
    queues: int, turn: int, asking: int, sizes: list[int]
) -> None:
    asked, expected = min(len(sizes), queues), min(asking, queues)
    budget = EventBudget(queues, turn=turn, asking=expected)
    taken = [budget.take(size) for size in sizes[:asked]]

    # Where more ask than last time, the turns may come round once more.
    assert sum(taken) <= (4000 if asked <= max(expected, 400) else 8000)
    assert min(taken, default=0) >= 0
