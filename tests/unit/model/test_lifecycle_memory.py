"""What the fold remembers, for how long, and with what bound."""

from __future__ import annotations

from unit.model.recordings import QUEUE, Fold, events
from unit.model.test_lifecycle_outcomes import NEW, stream

from qobserve.model.event import Event
from qobserve.model.keys import queue_id
from qobserve.model.lifecycle import Lifecycle
from qobserve.model.run import Card, Counted


def waiting(number: int, ms: int) -> list[Event]:
    job = f"{number}"
    return [Event(ms, 0, "added", job, job.encode(), "a"), Event(ms, 1, "waiting", job, job.encode())]


def test_a_job_that_ended_is_forgotten() -> None:
    for scenario in ("plain", "exhausted", "removed", "stalled", "flow_fails", "rate_limit"):
        assert Fold().feed(events("node-6.7.0", scenario)).settle().lifecycle.open_jobs == 0


def test_no_more_jobs_are_remembered_than_allowed_and_the_oldest_is_forgotten_first() -> None:
    lifecycle = Lifecycle(100)
    for number in range(1000):
        lifecycle.feed(QUEUE, waiting(number, 1000 + number), counted_from_ms=0)
        assert lifecycle.open_jobs <= 100
    known = [number for number in range(1000) if lifecycle.ready_ms(QUEUE, b"%d" % number) is not None]
    assert known == list(range(1000 - len(known), 1000))
    assert len(known) == lifecycle.open_jobs > 90


def test_the_oldest_of_all_queues_is_forgotten() -> None:
    lifecycle, other = Lifecycle(4), queue_id("bull", "other")
    lifecycle.feed(other, waiting(1, 1001), counted_from_ms=0)
    lifecycle.feed(QUEUE, [*waiting(1, 1000), *waiting(2, 1002)], counted_from_ms=0)
    lifecycle.feed(other, [*waiting(3, 1003), *waiting(4, 1004), *waiting(5, 1005)], counted_from_ms=0)
    assert [lifecycle.ready_ms(QUEUE, b"1"), lifecycle.ready_ms(other, b"1")] == [None, None]
    assert [lifecycle.ready_ms(QUEUE, b"2"), lifecycle.ready_ms(other, b"3")] == [1002, 1003]


def test_a_job_beyond_the_bound_is_counted_all_the_same_and_its_start_is_asked_for() -> None:
    """The first of three is forgotten; its hash tells when it was added, and so for how long it waited."""
    fold = Fold({b"1": Card(timestamp_ms=999, attempts_started=1, attempts_made=1)}, most_open=2)
    fold.feed([event for number in (1, 2, 3) for event in waiting(number, 1000 + number)])
    fold.feed([Event(2000, 0, "active", "1", b"1", None, "waiting"), Event(2001, 0, "completed", "1", b"1")]).settle()
    assert fold.counts == {"added": 3, "completed": 1}
    assert [(run.ready_ms, run.started_ms, run.ended_ms) for run in fold.runs] == [(999, 2000, 2001)]


def test_the_jobs_that_failed_last_are_remembered_and_those_of_a_queue_that_is_gone_are_not() -> None:
    def numbers(*, gone: bool) -> list[int | None]:
        fold = Fold(most_open=2)
        for number in (1, 2, 3):
            fold.feed(stream(*NEW, "failed", job=b"%d" % number, first_ms=1000 * number))
        if gone:
            fold.lifecycle.forget(QUEUE)
        for number in (1, 2, 3):
            fold.feed(stream("waiting<failed", "active", "failed", job=b"%d" % number, first_ms=9000 + 100 * number))
        return [run.attempt for run in fold.settle().runs[3:]]

    assert numbers(gone=False) == [None, 2, 2]
    assert numbers(gone=True) == [None, None, None]


def test_questions_that_nobody_answers_are_bounded_too() -> None:
    fold = Fold(most_open=10)
    for number in range(100):
        fold.feed(stream(*NEW, "delayed", job=b"%d" % number, first_ms=1000 + 100 * number))
        assert len(fold.lifecycle.questions()) <= 10
    assert fold.counts["retried"] == 90
    fold.settle()
    assert fold.counts["retried"] == 100


def test_a_queue_that_is_forgotten_leaves_nothing() -> None:
    fold = Fold().feed(stream(*NEW, "delayed", "waiting<delayed"))
    fold.feed(stream("added", "waiting", job=b"2", first_ms=5000))
    assert fold.lifecycle.open_jobs == 2
    fold.lifecycle.forget(QUEUE)
    assert (fold.lifecycle.open_jobs, fold.lifecycle.questions()) == (0, [])
    assert fold.lifecycle.ready_ms(QUEUE, b"2") is None
    fold.lifecycle.forget(QUEUE)
    assert fold.feed(stream("added", "waiting")).counts["added"] == 3


def test_events_that_were_taken_already_are_ignored() -> None:
    told = events("node-6.7.0", "retry_backoff")
    once = Fold().feed(told).settle()
    twice = Fold().feed(told).feed(told).feed(told[2:]).settle()
    assert (twice.counts, twice.outcomes()) == (once.counts, once.outcomes())


def test_two_events_of_one_millisecond_are_two() -> None:
    same = [Event(1000, number, "completed", f"{number}", b"%d" % number) for number in range(3)]
    assert Fold().feed([*same, same[-1]]).counts == {"completed": 3}


def test_a_wait_is_known_as_long_as_it_lasts() -> None:
    fold = Fold().feed(stream("added", "delayed"))
    assert fold.lifecycle.ready_ms(QUEUE, b"1") is None
    fold.feed(stream("waiting<delayed", first_ms=2000))
    assert fold.lifecycle.ready_ms(QUEUE, b"1") == 2000
    fold.feed(stream("active", first_ms=3000))
    assert fold.lifecycle.ready_ms(QUEUE, b"1") is None


def test_progress_without_end_is_not_remembered_without_end() -> None:
    fold = Fold().feed(stream(*NEW, *["progress"] * 1000, "completed"))
    assert 10 < len(fold.runs[0].notes) < 100


def test_counts_are_told_by_name_and_once_for_a_batch() -> None:
    told = Lifecycle(10).feed(QUEUE, events("node-6.7.0", "flow"), counted_from_ms=0)
    counts = [value for value in told if isinstance(value, Counted)]
    assert {(count.kind, count.name, count.count) for count in counts} == {
        ("added", "p", 1),
        ("added", "c", 2),
        ("completed", "p", 1),
        ("completed", "c", 2),
    }
    assert told[-len(counts) :] == counts
