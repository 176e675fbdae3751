"""Rows of several queues as those of one, and counters that never fall whatever comes and goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.metrics.merge import Merge, Rises


@pytest.mark.parametrize(("merge", "merged"), [(Merge.SUM, 6), (Merge.MAX, 4), (Merge.MIN, 2)])
def test_rows_with_the_same_labels_become_one(merge: Merge, merged: float) -> None:
    rows = [("q,a", 4.0), ("q,b", 1.0), ("q,a", 2.0)]

    assert list(merge.rows(rows)) == [("q,a", merged), ("q,b", 1.0)]


def test_a_sum_of_counters_rises_by_what_each_rose() -> None:
    rises = Rises()

    assert rises.take({}, complete=True) is None
    assert rises.take({b"a": None}, complete=True) is None
    assert rises.take({b"a": 10, b"b": 5}, complete=True) == 15
    assert rises.take({b"a": 12, b"b": 5}, complete=True) == 17
    assert rises.take({b"a": 12, b"c": 1000}, complete=True) == 17  # b is gone, c begins where it is
    assert rises.take({b"a": 12, b"c": 1001}, complete=True) == 18
    assert rises.take({b"a": 3, b"c": 1001}, complete=True) == 21  # a began anew
    assert rises.take({b"a": 3, b"b": 50, b"c": 1001}, complete=True) == 21  # b of before is forgotten


def test_what_could_not_be_read_goes_on_where_it_was() -> None:
    rises = Rises()
    rises.take({b"a": 10, b"b": 5}, complete=True)

    assert rises.take({b"a": None, b"b": 5}, complete=True) == 15
    assert rises.take({b"a": 13, b"b": 5}, complete=True) == 18
    assert rises.take({b"b": 5}, complete=False) == 18  # a part of the store did not answer
    assert rises.take({b"a": 14, b"b": 5}, complete=True) == 19


LOOKS = st.lists(
    st.tuples(st.dictionaries(st.sampled_from([b"a", b"b", b"c"]), st.none() | st.integers(0, 20)), st.booleans())
)


@given(LOOKS)
def test_a_sum_never_falls_and_never_vanishes(looks: list[tuple[dict[bytes, float | None], bool]]) -> None:
    rises = Rises()
    told = [rises.take(values, complete=complete) for values, complete in looks]
    known = [total for total in told if total is not None]

    assert told[len(told) - len(known) :] == known == sorted(known)
