"""Shares of a scrape: bounded in all, deep where queues are few, and never nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.reader.budget import Budget, EventBudget, share
from qobserve.reader.questions import Windows


@pytest.mark.parametrize(
    ("queues", "budget"),
    [
        (0, Budget(windows=Windows(jobs=100, schedulers=20), hashes=100, payloads=30, active=16)),
        (1, Budget(windows=Windows(jobs=100, schedulers=20), hashes=100, payloads=30, active=16)),
        (100, Budget(windows=Windows(jobs=80, schedulers=20), hashes=20, payloads=10, active=10)),
        (1000, Budget(windows=Windows(jobs=8, schedulers=20), hashes=2, payloads=1, active=1)),
        (100_000, Budget(windows=Windows(jobs=8, schedulers=20), hashes=2, payloads=1, active=1)),
    ],
)
def test_shares(queues: int, budget: Budget) -> None:
    assert share(queues, schedulers=20) == budget


@given(st.integers(0, 10**6))
def test_more_queues_never_have_larger_shares(queues: int) -> None:
    before, after = share(queues, 20), share(queues + 1, 20)

    assert after.windows.jobs <= before.windows.jobs
    assert (after.hashes, after.payloads, after.active) <= (before.hashes, before.payloads, before.active)
    assert min(after.windows.jobs, after.hashes, after.payloads, after.active) >= 1


@given(st.integers(1, 1000))
def test_up_to_1000_queues_the_totals_hold(queues: int) -> None:
    budget = share(queues, 20)

    assert budget.hashes * queues <= 2000
    assert budget.windows.jobs * queues <= 8000


@pytest.mark.parametrize(
    ("queues", "taken"),
    [
        (1, [200] * 10 + [0]),
        (10, [200] * 10 + [0]),
        (100, [20] * 100 + [0]),
        (1000, [10] * 200 + [0] * 3),
    ],
)
def test_entries_of_small_streams(queues: int, taken: list[int]) -> None:
    budget = EventBudget(queues)

    assert [budget.take(entry_bytes=100) for _ in taken] == taken


@pytest.mark.parametrize(
    ("entry_bytes", "entries"), [(0, 200), (100, 200), (5242, 200), (10_486, 99), (1 << 20, 1), (1 << 29, 1)]
)
def test_large_entries_are_read_in_small_numbers(entry_bytes: int, entries: int) -> None:
    assert EventBudget(1).take(entry_bytes) == entries


@given(queues=st.integers(0, 5000), sizes=st.lists(st.integers(0, 1 << 30), max_size=300))
def test_a_scrape_never_reads_more_entries_than_its_budget(queues: int, sizes: list[int]) -> None:
    budget = EventBudget(queues)
    taken = [budget.take(size) for size in sizes]

    assert sum(taken) <= 2000
    assert min(taken, default=0) >= 0
