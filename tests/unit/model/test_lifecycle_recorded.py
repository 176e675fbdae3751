"""What the fold makes of streams that real BullMQ wrote: every operation, in every version that was recorded."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from unit.model.recordings import QUEUE, VERSIONS, Fold, cards, events, scenarios

if TYPE_CHECKING:
    from qobserve.model.run import Run

ALL = [(version, scenario) for version in VERSIONS for scenario in scenarios(version)]
ONE = {"added": 1, "completed": 1}
RETRIED = {**ONE, "retried": 1, "attempts_failed": 1}

COUNTS: dict[str, dict[str, int]] = {
    "added_again": {"added": 2, "completed": 2},
    "change_delay": {**ONE, "delayed": 1},
    "cleaned": {"added": 3, "completed": 3, "removed": 3},
    "colons": ONE,
    "custom": ONE,
    "deduplicated": {**ONE, "deduplicated": 1},
    "delayed": {**ONE, "delayed": 1},
    "drain": {"added": 3, "completed": 1},
    "duplicated": {"added": 1},
    "exhausted": {"added": 1, "retried": 1, "failed": 1, "attempts_failed": 2, "retries_exhausted": 1},
    "flow": {"added": 3, "completed": 3},
    "flow_fails": {"added": 2, "failed": 2, "attempts_failed": 2, "retries_exhausted": 2},
    "manual_retry": {**ONE, "failed": 1, "attempts_failed": 1, "retries_exhausted": 1},
    "paused": ONE,
    "plain": ONE,
    "prioritized": ONE,
    "progress": ONE,
    "promoted": {**ONE, "delayed": 1},
    "put_back": {**ONE, "delayed": 1},
    "rate_limit": ONE,
    "removed": {"added": 3, "completed": 1, "delayed": 1, "removed": 3},
    "replaced": {"added": 2, "completed": 1, "delayed": 2, "removed": 1, "deduplicated": 1},
    "retry": RETRIED,
    "retry_and_put_back": {**RETRIED, "delayed": 1},
    "retry_backoff": RETRIED,
    "scheduler": {"added": 4, "completed": 3, "delayed": 3, "removed": 1},
    "stalled": {**ONE, "stalled": 1},
    "stalled_too_often": {"added": 1, "failed": 1, "attempts_failed": 1, "stalled": 1, "retries_exhausted": 1},
    "steps_aside": ONE,
    "unrecoverable": {"added": 1, "failed": 1, "attempts_failed": 1},
}
OTHERWISE: dict[tuple[str, str], dict[str, int]] = {
    ("node-4.18.3", "deduplicated"): {"added": 2, "completed": 2},  # it has no such thing
    ("node-4.18.3", "flow_fails"): {"added": 2, "failed": 2, "attempts_failed": 2, "retries_exhausted": 1},
    ("node-4.18.3", "replaced"): {"added": 2, "completed": 2, "delayed": 2},  # nor this
    ("node-4.18.3", "retry_and_put_back"): {**ONE, "retried": 2, "attempts_failed": 2},  # see docs/events.md
    ("node-4.18.3", "scheduler"): {"added": 4, "completed": 3, "delayed": 4, "removed": 1},
    ("node-4.18.3", "stalled_too_often"): {"added": 1, "failed": 1, "attempts_failed": 1},
    ("node-5.81.5", "deduplicated"): {**ONE, "deduplicated": 2},  # the older spelling was tried too
    ("python-3.4.4", "removed"): {"added": 1, "removed": 1},
}

OUTCOMES: dict[str, list[tuple[str, str, int | None]]] = {
    "exhausted": [("1", "retried", 1), ("1", "failed", 2)],
    "flow": [("c1", "completed", 1), ("c2", "completed", 1), ("par", "completed", 1)],
    "flow_fails": [("c1", "failed", 1), ("par", "failed", 1)],
    "manual_retry": [("1", "failed", 1), ("1", "completed", 2)],
    "plain": [("1", "completed", 1)],
    "put_back": [("1", "delayed", 1), ("1", "completed", 2)],
    "rate_limit": [("1", "delayed", 1), ("1", "completed", 2)],
    "removed": [("1", "removed", None), ("2", "removed", None), ("3", "completed", 1)],
    "retry": [("1", "retried", 1), ("1", "completed", 2)],
    "retry_and_put_back": [("1", "retried", 1), ("1", "delayed", 2), ("1", "completed", 3)],
    "retry_backoff": [("1", "retried", 1), ("1", "completed", 2)],
    "stalled": [("1", "stalled", 1), ("1", "completed", 2)],
    "stalled_too_often": [("1", "stalled", 1), ("1", "failed", 2)],
    "steps_aside": [("1", "waiting-children", 1), ("1", "completed", 2)],
    "unrecoverable": [("1", "failed", 1)],
}


def folded(version: str, scenario: str) -> Fold:
    """The whole stream in one batch, every question answered with what was left of the jobs."""
    return Fold(cards(version, scenario)).feed(events(version, scenario)).settle()


def test_there_is_a_recording_of_everything() -> None:
    assert VERSIONS == ("node-4.18.3", "node-5.81.5", "node-6.7.0", "python-3.4.4")
    assert {scenario for _, scenario in ALL} == set(COUNTS)


@pytest.mark.parametrize(("version", "scenario"), ALL)
def test_counts(version: str, scenario: str) -> None:
    expected = OTHERWISE.get((version, scenario), COUNTS[scenario])
    assert dict(folded(version, scenario).counts) == expected


@pytest.mark.parametrize(("version", "scenario"), [one for one in ALL if one[1] in OUTCOMES])
def test_runs(version: str, scenario: str) -> None:
    expected = OUTCOMES[scenario]
    if (version, scenario) == ("node-4.18.3", "stalled_too_often"):
        expected = [("1", "failed", 1)]
    if (version, scenario) == ("node-4.18.3", "retry_and_put_back"):
        expected = [("1", "retried", 1), ("1", "retried", 2), ("1", "completed", 3)]
    if (version, scenario) == ("python-3.4.4", "removed"):
        expected = expected[:1]
    found = folded(version, scenario).outcomes()
    if (version, scenario) == ("node-4.18.3", "flow_fails"):  # the parent fails where it waits, and is never run
        expected = [("par", "failed", None), ("c1", "failed", 1)]
        found = sorted(found, reverse=True)
    assert found == expected


@pytest.mark.parametrize(("version", "scenario"), ALL)
def test_every_cut_into_batches_tells_the_same(version: str, scenario: str) -> None:
    whole = folded(version, scenario)
    stream = events(version, scenario)
    for cut in range(1, len(stream)):
        parts = Fold(cards(version, scenario)).feed(stream[:cut]).feed(stream[cut:]).settle()
        assert (parts.named, parts.outcomes()) == (whole.named, whole.outcomes())


@pytest.mark.parametrize(("version", "scenario"), ALL)
def test_one_event_at_a_time_with_questions_in_between_tells_the_same(version: str, scenario: str) -> None:
    """The hashes are the last ones, so that each answer is ahead of the events."""
    whole = folded(version, scenario)
    fold = Fold(cards(version, scenario))
    for event in events(version, scenario):
        fold.feed([event]).answer()
    fold.settle()
    assert fold.counts == whole.counts


def test_moments_of_a_delayed_job() -> None:
    fold = folded("node-6.7.0", "delayed")
    at = {event.kind: event.ms for event in events("node-6.7.0", "delayed")}
    (run,), (started,) = fold.runs, fold.started
    assert (run.added_ms, run.ready_ms, run.started_ms, run.ended_ms) == (
        at["added"],
        at["waiting"],
        at["active"],
        at["completed"],
    )
    assert (started.ready_ms, started.started_ms, started.name, started.live) == (
        at["waiting"],
        at["active"],
        "a",
        True,
    )
    assert (run.queue, run.job, run.name, run.exhausted, run.card) == (QUEUE, "1", "a", False, None)


def test_a_run_that_began_in_the_past_is_told_but_not_counted() -> None:
    stream = events("node-6.7.0", "plain")
    past = Fold().feed(stream, counted_from_ms=stream[-1].ms + 1)
    assert past.counts == {}
    assert [run.live for run in past.runs] == [False]
    between = Fold().feed(stream, counted_from_ms=next(event.ms for event in stream if event.kind == "completed"))
    assert between.counts == {"completed": 1}
    assert ([run.live for run in between.runs], [one.live for one in between.started]) == ([True], [False])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_run_that_used_up_the_attempts_says_so(version: str) -> None:
    runs = sorted(folded(version, "exhausted").runs, key=lambda run: run.ended_ms)
    assert [run.exhausted for run in runs] == [False, True]


def test_a_parent_that_steps_aside_is_timed_only_where_its_end_is_told() -> None:
    def first(version: str) -> Run:
        return min(folded(version, "steps_aside").runs, key=lambda run: run.ended_ms)

    stream = events("node-6.7.0", "steps_aside")
    started, ended = (next(e.ms for e in stream if e.kind == kind) for kind in ("active", "waiting-children"))
    assert (first("node-6.7.0").started_ms, first("node-6.7.0").ended_ms) == (started, ended)
    assert first("node-4.18.3").started_ms is None


@pytest.mark.parametrize(("version", "scenario"), ALL)
def test_a_run_never_ends_before_it_began(version: str, scenario: str) -> None:
    for run in folded(version, scenario).runs:
        moments = [ms for ms in (run.added_ms, run.ready_ms, run.started_ms, run.ended_ms) if ms is not None]
        assert all(a <= b for a, b in itertools.pairwise(moments)), run


def test_what_happened_in_a_run_is_noted() -> None:
    (run,) = folded("node-6.7.0", "progress").runs
    assert [note.kind for note in run.notes] == ["progress"]
    stalled, _ = sorted(folded("node-6.7.0", "stalled").runs, key=lambda run: run.ended_ms)
    assert [note.kind for note in stalled.notes] == ["stalled"]
    put_back, _ = sorted(folded("node-6.7.0", "put_back").runs, key=lambda run: run.ended_ms)
    assert [note.kind for note in put_back.notes] == ["delayed"]
