"""Retried, put back or stalled: what the stream leaves open, and what the hash then says."""

from __future__ import annotations

import itertools

import pytest
from unit.model.recordings import QUEUE, Fold, cards, events

from qobserve.model.event import Event
from qobserve.model.lifecycle import Lifecycle, Why
from qobserve.model.run import Card

NODE_6, NODE_4 = "node-6.7.0", "node-4.18.3"


def stream(*words: str, first_ms: int = 1000, job: bytes = b"1") -> list[Event]:
    """Events 10 ms apart; `waiting<active` is `waiting` with that `prev`."""
    parts = [word.partition("<") for word in words]
    return [
        Event(first_ms + 10 * number, 0, kind, job.decode(), job, "a" if kind == "added" else None, prev or None)
        for number, (kind, _, prev) in enumerate(parts)
    ]


NEW = ("added", "waiting", "active")


def test_a_hash_that_is_gone_leaves_a_retry() -> None:
    """A job that is removed when it completes, as most are."""
    for scenario in ("retry", "retry_backoff"):
        fold = Fold().feed(events(NODE_6, scenario)).settle()
        assert fold.counts["retried"] == fold.counts["attempts_failed"] == 1
        assert fold.outcomes() == [("1", "retried", 1), ("1", "completed", 2)]


def test_a_retry_of_old_needs_no_hash() -> None:
    """Up to 5.1 the event says so itself, and a rate limit has its own wording too."""
    fold = Fold().feed(events(NODE_4, "retry")).feed(stream(*NEW, "waiting", job=b"2", first_ms=2**42))
    assert fold.counts["retried"] == 1
    assert fold.answer().asked == []
    assert fold.outcomes()[-1] == ("2", "delayed", 1)


def test_of_a_job_that_may_run_once_nothing_is_retried() -> None:
    once = Card(attempts=1, attempts_started=0)
    fold = Fold({b"1": once}, cards=True).feed(stream("added", "waiting")).answer()
    fold.answers = {}
    fold.feed(stream("active", "waiting<active", "active", "completed", first_ms=2000)).settle()
    assert fold.counts == {"added": 1, "completed": 1}
    assert fold.outcomes() == [("1", "delayed", 1), ("1", "completed", 2)]


def test_a_question_waits_for_the_event_that_was_written_with_the_last_one() -> None:
    """`waiting` may be followed by `stalled`, which a bounded read may have cut off."""
    fold = Fold().feed(stream(*NEW, "waiting<active"))
    assert fold.lifecycle.questions() == []
    fold.feed(stream("stalled", first_ms=2000)).settle()
    assert fold.counts == {"added": 1, "stalled": 1}
    assert fold.asked == []
    assert fold.outcomes() == [("1", "stalled", 1)]


def test_a_question_is_asked_when_nothing_more_came() -> None:
    fold = Fold().feed(stream(*NEW, "waiting<active"))
    assert fold.lifecycle.questions() == []
    (question,) = fold.lifecycle.questions()
    assert (question.queue, question.job, question.why, question.error) == (QUEUE, b"1", Why.OUTCOME, True)


@pytest.mark.parametrize(
    ("card", "outcome"),
    [
        (Card(attempts_started=1, attempts_made=1), "retried"),
        (Card(attempts_started=1, attempts_made=0), "delayed"),
        (Card(attempts_started=1), "delayed"),
        (Card(attempts_made=1, error="Error"), "retried"),
        (Card(attempts_made=1), "delayed"),
        (None, "retried"),
    ],
)
@pytest.mark.parametrize("event", ["delayed", "waiting<active"])
def test_what_the_hash_says(card: Card | None, outcome: str, event: str) -> None:
    fold = Fold({} if card is None else {b"1": card}).feed(stream(*NEW, event)).settle()
    assert [run.outcome for run in fold.runs] == [outcome]
    assert fold.counts["retried"] == fold.counts["attempts_failed"] == (outcome == "retried")
    assert fold.counts["delayed"] == (outcome == "delayed" and event == "delayed")


def test_a_hash_that_knows_more_starts_than_the_events_is_waited_for() -> None:
    """Put back, then retried: a number that has grown by one may mean the second run."""
    ahead = Card(attempts_started=2, attempts_made=1)
    fold = Fold({b"1": ahead}).feed(stream(*NEW, "delayed"))
    for _ in range(5):
        fold.answer()
    assert fold.counts == {"added": 1}
    fold.answers = {b"1": Card(attempts_started=2, attempts_made=1)}
    fold.feed(stream("waiting<delayed", "active", "delayed", first_ms=2000)).settle()
    assert fold.counts == {"added": 1, "retried": 1, "attempts_failed": 1, "delayed": 1}


def test_events_that_never_come_are_not_waited_for_without_end() -> None:
    fold = Fold({b"1": Card(attempts_started=2, attempts_made=1)}).feed(stream(*NEW, "delayed"))
    for _ in range(150):
        fold.answer()
    assert fold.counts["retried"] == 1
    assert fold.lifecycle.questions() == []
    assert len(fold.asked) < 5


def test_a_hash_of_a_later_job_with_the_same_id_says_nothing_of_the_earlier_one() -> None:
    later = Card(name="other", attempts_started=0)
    fold = Fold({b"1": later}, cards=True).feed(stream(*NEW, "completed")).settle()
    assert [(run.card, run.name) for run in fold.runs] == [(None, "a")]


def test_a_job_added_again_leaves_the_earlier_one_without_its_hash() -> None:
    again = Card(attempts_started=1, attempts_made=1)
    words = (*NEW, "waiting<active", "active", "completed", *NEW, "completed")
    fold = Fold({b"1": again}).feed(stream(*words)).settle()
    assert fold.counts == {"added": 2, "completed": 2, "retried": 1, "attempts_failed": 1}
    assert fold.outcomes() == [("1", "retried", 1), ("1", "completed", 2), ("1", "completed", 1)]


def test_the_number_of_attempts_that_were_used_up_settles_it_without_a_hash() -> None:
    put_back = stream(*NEW, "delayed", "waiting<delayed", "active", "failed<active")
    exhausted = Event(9000, 0, "retries-exhausted", "1", b"1", attempts_made=1)
    fold = Fold().feed([*put_back, exhausted]).settle()
    assert fold.counts == {"added": 1, "delayed": 1, "failed": 1, "attempts_failed": 1, "retries_exhausted": 1}
    assert fold.outcomes() == [("1", "delayed", 1), ("1", "failed", 2)]
    assert [run.exhausted for run in fold.runs] == [False, True]


def test_of_a_job_that_is_not_known_the_hash_alone_tells() -> None:
    for started, made, outcome in ((3, 3, "retried"), (3, 2, "delayed")):
        card = Card(attempts_started=started, attempts_made=made, processed_ms=995)
        fold = Fold({b"1": card}).feed(stream("delayed")).settle()
        assert [(run.outcome, run.attempt, run.started_ms) for run in fold.runs] == [(outcome, 3, 995)]


def test_an_end_whose_start_is_not_known_asks_for_it() -> None:
    card = Card(name="b", timestamp_ms=900, delay_ms=50, attempts_started=1, attempts_made=1, processed_ms=980)
    fold = Fold({b"1": card}).feed(stream("completed")).settle()
    assert [question.why for question in fold.asked] == [Why.START]
    (run,) = fold.runs
    assert (run.ready_ms, run.started_ms, run.ended_ms, run.attempt, run.name) == (950, 980, 1000, 1, "b")


@pytest.mark.parametrize(("processed", "started"), [(1500, 1000), (2500, None), (None, None)])
def test_a_start_after_the_end_is_the_other_clock_or_another_run(processed: int | None, started: int | None) -> None:
    card = Card(attempts_started=1, attempts_made=1, processed_ms=processed)
    assert [run.started_ms for run in Fold({b"1": card}).feed(stream("completed")).settle().runs] == [started]


def test_a_start_whose_wait_was_not_seen_asks_the_hash_of_a_first_attempt() -> None:
    first = Card(timestamp_ms=900, delay_ms=50, attempts_started=1)
    fold = Fold({b"1": first}).feed(stream("active")).settle().feed(stream("completed", first_ms=2000))
    assert [one.ready_ms for one in fold.started] == [950]
    assert [(run.ready_ms, run.attempt) for run in fold.runs] == [(950, 1)]
    later = Card(timestamp_ms=900, attempts_started=2, attempts_made=1)
    fold = Fold({b"1": later}).feed(stream("active")).settle()
    assert [one.ready_ms for one in fold.started] == [None]


def test_a_wait_that_was_seen_asks_nothing() -> None:
    assert Fold().feed(stream("waiting<delayed", "active", "completed")).answer().asked == []


def test_a_hash_that_is_gone_leaves_moments_unknown() -> None:
    fold = Fold().feed(stream("active", "completed")).settle()
    assert [(one.ready_ms, one.started_ms) for one in fold.started] == [(None, 1000)]
    assert [(run.ready_ms, run.started_ms, run.attempt) for run in fold.runs] == [(None, 1000, None)]


def test_a_retry_by_hand_is_a_new_life() -> None:
    fold = Fold().feed(stream("waiting<failed", "active", "completed")).settle()
    assert fold.counts == {"completed": 1}
    assert fold.outcomes() == [("1", "completed", None)]


BY_HAND = ("waiting<failed", "active")


@pytest.mark.parametrize("card", [None, Card(attempts_started=1, attempts_made=0), Card(attempts_started=3)])
def test_a_retry_by_hand_goes_on_counting_whatever_its_hash_says(card: Card | None) -> None:
    words = (*NEW, "failed", *BY_HAND, "failed", *BY_HAND, "completed")
    fold = Fold({} if card is None else {b"1": card}).feed(stream(*words)).settle()
    assert fold.outcomes() == [("1", "failed", 1), ("1", "failed", 2), ("1", "completed", 3)]
    assert [run.added_ms for run in fold.runs] == [1000] * 3


def test_a_retry_by_hand_whose_counters_were_reset_is_told_with_its_hash() -> None:
    fold = Fold({b"1": Card(name="kept", attempts_started=1, attempts_made=0)}, cards=True)
    fold.feed(stream(*NEW, "failed")).settle()
    fold.feed(stream(*BY_HAND, "completed", first_ms=2000)).settle()
    assert [(run.attempt, run.card and run.card.name) for run in fold.runs] == [(1, "kept"), (2, "kept")]


def test_a_retry_by_hand_that_is_removed_before_it_runs_has_no_number() -> None:
    fold = Fold().feed(stream(*NEW, "failed", "waiting<failed", "removed")).settle()
    assert fold.outcomes() == [("1", "failed", 1), ("1", "removed", None)]


@pytest.mark.parametrize(
    "between", [("removed<failed",), ("added", "removed<waiting"), ("added", "active", "completed")]
)
def test_what_failed_and_is_no_more_is_not_taken_up_again(between: tuple[str, ...]) -> None:
    fold = Fold().feed(stream(*NEW, "failed", *between, *BY_HAND, "completed")).settle()
    last = max(fold.runs, key=lambda run: run.ended_ms)
    assert (last.outcome, last.attempt, last.added_ms) == ("completed", None, None)


def test_a_job_that_failed_without_ever_running_has_no_start() -> None:
    fold = Fold().feed(stream("added", "waiting-children", "failed<waiting-children")).settle()
    assert [(run.outcome, run.started_ms, run.attempt) for run in fold.runs] == [("failed", None, None)]
    assert fold.asked == []


def test_stalled_without_the_event_before_it_still_ends_the_run() -> None:
    fold = Fold().feed(stream(*NEW, "stalled", "active", "completed")).settle()
    assert fold.outcomes() == [("1", "stalled", 1), ("1", "completed", 2)]
    assert fold.counts == {"added": 1, "stalled": 1, "completed": 1}


def test_both_names_of_a_rejected_duplicate_are_one() -> None:
    assert Fold().feed(stream("debounced", "deduplicated")).counts == {"deduplicated": 1}
    assert Fold().feed(stream("debounced", "debounced")).counts == {"deduplicated": 2}
    cut = Fold().feed(stream("debounced")).feed(stream("deduplicated", first_ms=2000))
    assert cut.counts == {"deduplicated": 1}


def test_many_runs_of_one_job_are_told_apart() -> None:
    """The first fails, the second is put back, the third fails, the fourth completes: all in one batch, hash kept."""
    back = ("delayed", "waiting<delayed", "active")
    card = Card(attempts_started=4, attempts_made=3)
    fold = Fold({b"1": card}).feed(stream(*NEW, *back, *back, *back, "completed")).settle()
    assert fold.counts == {"added": 1, "retried": 2, "attempts_failed": 2, "delayed": 1, "completed": 1}
    assert [run.attempt for run in fold.runs] == [1, 2, 3, 4]


def test_answers_that_nobody_asked_for_say_nothing() -> None:
    fold = Fold().feed(stream(*NEW, "delayed", "waiting<delayed"))
    (question,) = fold.lifecycle.questions()
    assert Lifecycle(10).answer(question, None) == []
    fold.take(fold.lifecycle.answer(question, None))
    assert fold.lifecycle.answer(question, None) == []
    assert fold.counts["retried"] == 1


@pytest.mark.parametrize(
    ("version", "scenario"), list(itertools.product([NODE_6, NODE_4], ["put_back", "retry_backoff"]))
)
def test_counts_are_the_same_whether_the_hash_is_read_at_once_or_at_the_end(version: str, scenario: str) -> None:
    """4.x counts a start where later versions count a failure, so there the error has to tell."""
    told = events(version, scenario)
    last = cards(version, scenario)[b"1"]
    until = next(number for number, event in enumerate(told) if event.kind == "delayed") + 1
    if version == NODE_6:
        early = Card(attempts_started=1, attempts_made=(last.attempts_made or 0) - 1)
    else:
        early = Card(attempts_made=1, error=last.error)
    at_once = Fold({b"1": early}).feed(told[:until]).settle().feed(told[until:]).settle()
    assert at_once.counts == Fold({b"1": last}).feed(told).settle().counts


def test_what_is_settled_once_is_not_settled_again() -> None:
    """Failed, and asked about; then put back, and asked about: the number has not grown."""
    fold = Fold({b"1": Card(attempts_started=1, attempts_made=1)}).feed(stream(*NEW, "delayed")).settle()
    fold.answers = {b"1": Card(attempts_started=2, attempts_made=1)}
    fold.feed(stream("waiting<delayed", "active", "delayed", first_ms=2000)).settle()
    assert fold.outcomes() == [("1", "retried", 1), ("1", "delayed", 2)]


def test_an_unknown_job_that_runs_again_is_told_by_what_it_has_run_and_failed() -> None:
    for made, outcome in ((1, "retried"), (0, "delayed")):
        card = Card(attempts_started=2, attempts_made=made)
        fold = Fold({b"1": card}).feed(stream("waiting<active", "active")).settle()
        assert fold.outcomes() == [("1", outcome, 1)]


def test_a_failure_of_the_past_is_not_counted_when_it_is_settled() -> None:
    fold = Fold().feed(stream(*NEW, "delayed"), counted_from_ms=5000).settle()
    assert fold.counts == {}
    assert [(run.outcome, run.live) for run in fold.runs] == [("retried", False)]


def test_the_hash_of_a_job_added_again_settles_nothing_of_the_earlier_one() -> None:
    """It has the starts that the earlier one had, and fewer failures."""
    words = (*NEW, "waiting<active", "active", "completed", "added", "waiting")
    fold = Fold({b"1": Card(attempts_started=2, attempts_made=1)}).feed(stream(*words)).settle()
    assert fold.outcomes() == [("1", "retried", 1), ("1", "completed", 2)]


def test_events_that_are_missing_leave_moments_and_numbers_unknown() -> None:
    """Two starts in a row, an end that was lost before a retry by hand, and a removal of what had ended."""
    fold = Fold().feed(stream(*NEW, "active", "completed")).settle()
    assert [one.ready_ms for one in fold.started] == [1010, None]
    fold = Fold().feed(stream("added", "waiting", "waiting<failed", "active", "completed")).settle()
    assert fold.outcomes() == [("1", "completed", None)]
    fold = Fold().feed(stream("added", "waiting", "removed<completed")).settle()
    assert (fold.runs, fold.counts, fold.lifecycle.open_jobs) == ([], {"added": 1, "removed": 1}, 0)
