"""Whatever comes, in whatever order: counts only grow, a replay tells the same, and batches may be cut anywhere."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from unit.model.recordings import VERSIONS, Fold, events, scenarios

from qobserve.model.event import Event
from qobserve.model.run import Card

if TYPE_CHECKING:
    from collections.abc import Sequence

KINDS = (
    *("added", "waiting", "active", "completed", "failed", "delayed", "stalled", "waiting-children", "removed"),
    *(
        "retries-exhausted",
        "progress",
        "deduplicated",
        "debounced",
        "duplicated",
        "cleaned",
        "drained",
        "paused",
        "note",
    ),
)
PREVS = (None, "active", "waiting", "delayed", "failed", "completed", "waiting-children", "moon")
JOBS = (None, b"1", b"2", b"a:b:\xff")
RETAINED = [(version, scenario) for version in VERSIONS for scenario in scenarios(version)]

numbers = st.none() | st.integers(0, 5)
cards = st.builds(
    Card,
    name=st.sampled_from([None, "a"]),
    timestamp_ms=st.none() | st.integers(0, 200),
    attempts=st.integers(0, 3),
    attempts_started=numbers,
    attempts_made=numbers,
    processed_ms=st.none() | st.integers(0, 200),
    error=st.sampled_from([None, "Error"]),
)
answers = st.dictionaries(st.sampled_from([job for job in JOBS if job is not None]), cards)


@st.composite
def an_event(draw: st.DrawFn) -> Event:
    job = draw(st.sampled_from(JOBS))
    return Event(
        draw(st.integers(0, 100)),
        draw(st.integers(0, 2)),
        draw(st.sampled_from(KINDS)),
        None if job is None else job.decode("utf-8", "backslashreplace"),
        job,
        draw(st.sampled_from([None, "a"])),
        draw(st.sampled_from(PREVS)),
        attempts_made=draw(numbers),
        count=draw(numbers),
    )


@st.composite
def a_real_stream(draw: st.DrawFn) -> list[Event]:
    """What BullMQ wrote, with events lost, told twice, and strangers' events between."""
    real = events(*draw(st.sampled_from(RETAINED)))
    kept = [event for event in real if draw(st.integers(0, 9))]
    twice = [event for event in kept for _ in range(draw(st.integers(1, 2)))]
    return [part for event in twice for part in (event, *([draw(an_event())] if not draw(st.integers(0, 9)) else []))]


wild = st.lists(an_event(), max_size=40)
ordered = wild.map(lambda some: sorted(some, key=lambda event: event[:2]))
streams = wild | ordered | a_real_stream()
folds = st.tuples(st.integers(1, 4), st.booleans())
clocks = st.sampled_from([0, 50, 2**60])


def batches(stream: Sequence[Event], cuts: Sequence[int]) -> list[Sequence[Event]]:
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[first:last] for first, last in zip(places, [*places[1:], len(stream)], strict=True)]


@given(streams, answers, st.lists(st.integers(0, 100), max_size=5), clocks, folds)
def test_counts_only_grow_and_memory_is_bounded(
    stream: list[Event], answers: dict[bytes, Card], cuts: list[int], clock: int, kind: tuple[int, bool]
) -> None:
    most_open, with_cards = kind
    fold = Fold(answers, most_open=most_open, cards=with_cards)
    before: Counter[str] = Counter()
    for batch in batches(stream, cuts):
        fold.feed(batch, counted_from_ms=clock).answer()
        assert before <= fold.counts
        before = Counter(fold.counts)
        assert fold.lifecycle.open_jobs <= most_open
        assert len(fold.lifecycle.questions()) <= most_open
    assert fold.counts["attempts_failed"] == fold.counts["retried"] + fold.counts["failed"]
    assert all(run.live == (run.ended_ms >= clock) for run in fold.runs)


@given(streams, answers, st.lists(st.integers(0, 100), max_size=5), folds)
def test_a_replay_tells_the_same(
    stream: list[Event], answers: dict[bytes, Card], cuts: list[int], kind: tuple[int, bool]
) -> None:
    def told() -> Fold:
        fold = Fold(answers, most_open=kind[0], cards=kind[1])
        for batch in batches(stream, cuts):
            fold.feed(batch).answer()
        return fold

    one, other = told(), told()
    assert (one.named, one.runs, one.started) == (other.named, other.runs, other.started)
    counts = Counter(one.counts)
    one.feed(stream)
    assert one.counts == counts


@settings(max_examples=200)
@given(streams, answers, st.lists(st.integers(0, 100), max_size=8), clocks)
def test_any_cut_into_batches_gives_the_same_totals(
    stream: list[Event], answers: dict[bytes, Card], cuts: list[int], clock: int
) -> None:
    whole = Fold(answers).feed(stream, counted_from_ms=clock)
    parts = Fold(answers)
    for batch in batches(stream, cuts):
        parts.feed(batch, counted_from_ms=clock)
    assert parts.counts == whole.counts
    for _ in range(120):
        whole.answer()
        parts.answer()
    assert parts.counts == whole.counts
    assert len(parts.runs) == len(whole.runs)


@given(a_real_stream(), st.integers(0, 3))
def test_what_has_ended_leaves_nothing_open(stream: list[Event], seed: int) -> None:
    """Every job that is added later than all this and completes is told in full, whatever came before."""
    fold = Fold().feed(stream).settle()
    first = max((event.ms for event in stream), default=0) + 1 + seed
    fresh = [
        Event(first, number, kind, "9", b"9", "a")
        for number, kind in enumerate(("added", "waiting", "active", "completed"))
    ]
    runs = len(fold.runs)
    fold.feed(fresh)
    (run,) = fold.runs[runs:]
    assert (run.job, run.outcome, run.attempt, run.ready_ms, run.started_ms) == ("9", "completed", 1, first, first)
