"""The fold as traces need it: with what each job's hash says."""

from __future__ import annotations

import pytest
from unit.model.recordings import VERSIONS, Fold, cards, events, scenarios
from unit.model.test_lifecycle_outcomes import NEW, stream

from qobserve.model.lifecycle import Why
from qobserve.model.run import Card

CARD = Card(name="a", timestamp_ms=990, traceparent="00-1-2-01", attempts=1)


def test_a_job_is_asked_about_when_it_is_added_and_once() -> None:
    fold = Fold({b"1": CARD}, cards=True).feed(stream("added", "waiting")).answer().answer()
    assert [(question.job, question.why, question.error) for question in fold.asked] == [(b"1", Why.CARD, False)]
    fold.answers = {}
    fold.feed(stream("active", "completed", first_ms=2000))
    assert [one.card for one in fold.started] == [CARD]
    assert [(run.card, run.outcome) for run in fold.runs] == [(CARD, "completed")]
    assert len(fold.settle().asked) == 1


def test_values_wait_for_the_card() -> None:
    fold = Fold({b"1": Card(name="a", attempts_started=1)}, cards=True).feed(stream(*NEW, "completed"))
    assert (fold.runs, fold.started) == ([], [])
    assert fold.counts == {"added": 1, "completed": 1}
    fold.answer()
    assert [one.card for one in (*fold.started, *fold.runs)] == [fold.answers[b"1"]] * 2


def test_a_hash_that_is_gone_is_not_asked_for_again() -> None:
    fold = Fold(cards=True).feed(stream("added", "waiting")).answer()
    fold.feed(stream("active", "completed", first_ms=2000))
    assert [one.card for one in (*fold.started, *fold.runs)] == [None, None]
    assert len(fold.settle().asked) == 1


def test_a_failure_asks_for_its_class() -> None:
    fold = Fold({b"1": CARD}, cards=True).feed(stream("added", "waiting")).answer()
    fold.feed(stream("active", "failed<active", first_ms=2000))
    assert fold.runs == []
    fold.answers = {b"1": Card(name="a", attempts_started=1, attempts_made=1, error="TypeError")}
    fold.settle()
    assert fold.asked[-1].error
    assert [(run.error, run.outcome) for run in fold.runs] == [("TypeError", "failed")]


def test_a_failure_that_is_asked_about_hears_of_the_attempts_used_up_in_the_next_batch() -> None:
    told = events("node-6.7.0", "exhausted")
    cut = next(number for number, event in enumerate(told) if event.kind == "failed") + 1
    fold = Fold(cards("node-6.7.0", "exhausted"), cards=True).feed(told[:cut]).answer().feed(told[cut:]).settle()
    last = max(fold.runs, key=lambda run: run.ended_ms)
    assert (last.outcome, last.exhausted, last.error) == ("failed", True, "Error")


def test_the_last_error_is_that_of_the_last_failure() -> None:
    told = events("node-6.7.0", "retry_and_put_back")
    fold = Fold(cards("node-6.7.0", "retry_and_put_back"), cards=True).feed(told).settle()
    assert [(run.outcome, run.error) for run in fold.runs] == [
        ("retried", "Error"),
        ("delayed", None),
        ("completed", None),
    ]


def test_the_past_is_asked_about_too() -> None:
    fold = Fold({b"1": CARD}, cards=True).feed(stream("active"), counted_from_ms=10**6).settle()
    assert [(one.live, one.card) for one in fold.started] == [(False, CARD)]
    assert fold.counts == {}


@pytest.mark.parametrize(
    ("version", "scenario"), [(version, scenario) for version in VERSIONS for scenario in scenarios(version)]
)
def test_cards_change_no_total(version: str, scenario: str) -> None:
    told, answers = events(version, scenario), cards(version, scenario)
    plain = Fold(answers).feed(told).settle()
    carded = Fold(answers, cards=True).feed(told).settle()
    assert carded.counts == plain.counts
    if scenario != "manual_retry":  # the retry takes the hash over before the failure was asked about
        assert sorted(carded.outcomes(), key=str) == sorted(plain.outcomes(), key=str)
        assert all(run.card is not None for run in carded.runs if run.job.encode() in answers)
