"""The emitter takes spans at once, holds no more than it may, and tells what became of each."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.child import wait_until

from qobserve.tracing.delivery import Delivery
from qobserve.tracing.description import Kind, SpanDescription
from qobserve.tracing.emitter import Emitter, EmitterCounts, Pace

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterator, Sequence

SWIFT = Pace(batch=3, linger=0.01, tries=3, first_rest=0.01, longest_rest=0.02, longest_wait=0.05, steady=0.05)
DOWN = Delivery(loss="failed", error="connection refused", again=True)
REFUSED = Delivery(loss="refused", error="401")


def span(number: int) -> SpanDescription:
    return SpanDescription(
        trace_id=1, span_id=number, parent_span_id=None, name="process q", kind=Kind.CONSUMER, start_ns=1, end_ns=2
    )


class Desk:
    """A sender that does as it is told, in this process.

    Attributes:
        says: What becomes of a batch.
        gate: Batches wait until it is set.
        taken: The span ids of each batch that came.
    """

    def __init__(self) -> None:
        self.says: Callable[[Sequence[SpanDescription]], Delivery] = lambda _: Delivery()
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.taken: list[list[int]] = []
        self.closed = 0

    def deliver(self, spans: Sequence[SpanDescription]) -> Delivery:
        self.taken.append([each.span_id for each in spans])
        self.entered.set()
        self.gate.wait(5)
        return self.says(spans)

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def desk() -> Desk:
    return Desk()


@contextlib.contextmanager
def emitting(desk: Desk, *, queue_size: int = 100, pace: Pace = SWIFT) -> Iterator[Emitter]:
    emitter = Emitter(desk, endpoint="http://127.0.0.1:4318/v1/traces", queue_size=queue_size, pace=pace)
    emitter.start()
    try:
        yield emitter
    finally:
        desk.gate.set()
        emitter.close(5)


def dropped(counts: EmitterCounts) -> dict[str, int]:
    return {reason: count for reason, count in counts.dropped.items() if count}


def lines(caplog: pytest.LogCaptureFixture, message: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.message == message]


def test_all_is_zero_at_first(desk: Desk) -> None:
    emitter = Emitter(desk, endpoint="e", queue_size=1)
    none = {"queue_full": 0, "refused": 0, "failed": 0}
    assert emitter.counts() == EmitterCounts(exported=0, dropped=none, pending=0, broken=False)


def test_spans_go_in_batches_and_in_order(desk: Desk) -> None:
    emitter = Emitter(desk, endpoint="e", queue_size=100, pace=SWIFT)
    assert all(emitter.offer(span(number)) for number in range(8))
    emitter.start()
    emitter.close(5)
    assert desk.taken == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert emitter.counts() == EmitterCounts(exported=8, dropped=emitter.counts().dropped, pending=0, broken=False)
    assert dropped(emitter.counts()) == {}
    assert desk.closed == 1


def test_a_lone_span_does_not_wait_for_others(desk: Desk) -> None:
    with emitting(desk) as emitter:
        emitter.offer(span(1))
        wait_until(lambda: emitter.counts().exported == 1, "the span to be sent")


def test_a_full_batch_does_not_linger(desk: Desk) -> None:
    with emitting(desk, pace=Pace(batch=3, linger=60)) as emitter:
        emitter.offer(span(1))
        emitter.offer(span(2))
        emitter.offer(span(3))
        wait_until(lambda: emitter.counts().exported == 3, "the batch to be sent")


@pytest.mark.parametrize("queue_size", [1, 2, 3, 4, 5])
def test_a_queue_below_a_batch_does_not_linger_until_it_is_full(desk: Desk, queue_size: int) -> None:
    half = max(queue_size // 2, 1)
    with emitting(desk, queue_size=queue_size, pace=Pace(batch=9, linger=60)) as emitter:
        assert all(emitter.offer(span(number)) for number in range(half))
        wait_until(lambda: emitter.counts().exported == half, "the queue to be sent")


def test_what_is_over_the_bound_is_dropped_and_what_is_under_way_counts(desk: Desk) -> None:
    desk.gate.clear()
    with emitting(desk, queue_size=5) as emitter:
        assert [emitter.offer(span(number)) for number in range(3)] == [True] * 3
        assert desk.entered.wait(5)
        assert [emitter.offer(span(number)) for number in range(3, 7)] == [True, True, False, False]
        assert emitter.counts().pending == 5
        assert dropped(emitter.counts()) == {"queue_full": 2}
    assert emitter.counts().exported == 5
    assert dropped(emitter.counts()) == {"queue_full": 2}


def test_a_batch_is_tried_a_few_times_then_given_up(desk: Desk) -> None:
    desk.says = lambda _: DOWN
    with emitting(desk) as emitter:
        emitter.offer(span(1))
        wait_until(lambda: emitter.counts().pending == 0, "the batch to be given up")
        assert desk.taken == [[1], [1], [1]]
        assert dropped(emitter.counts()) == {"failed": 1}


def test_what_is_refused_is_not_sent_again(desk: Desk) -> None:
    desk.says = lambda _: REFUSED
    with emitting(desk) as emitter:
        emitter.offer(span(1))
        wait_until(lambda: emitter.counts().pending == 0, "the batch to be given up")
        assert desk.taken == [[1]]
        assert dropped(emitter.counts()) == {"refused": 1}


def test_a_batch_that_was_taken_in_part(desk: Desk) -> None:
    desk.says = lambda _: Delivery(loss="refused", rejected=1, error="too old")
    with emitting(desk) as emitter:
        for number in range(3):
            emitter.offer(span(number))
        wait_until(lambda: emitter.counts().pending == 0, "the batch to be sent")
        assert emitter.counts().exported == 2
        assert dropped(emitter.counts()) == {"refused": 1}
        assert emitter.counts().broken


def test_trouble_and_its_end_are_said_once(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    desk.says = lambda _: DOWN
    with emitting(desk, queue_size=4) as emitter:
        for number in range(50):
            emitter.offer(span(number))
        wait_until(lambda: emitter.counts().pending == 0, "the first spans to be given up")
        assert emitter.counts().broken
        desk.says = lambda _: Delivery()
        emitter.offer(span(1))
        wait_until(lambda: not emitter.counts().broken, "the end of the trouble")
        wait_until(lambda: len(lines(caplog, "spans are exported again")) == 1, "the line")
    (line,) = lines(caplog, "spans cannot be exported")
    assert line.levelname == "WARNING"
    assert (line.__dict__["endpoint"], line.__dict__["reason"]) == ("http://127.0.0.1:4318/v1/traces", "queue_full")
    assert lines(caplog, "spans are exported again")[0].__dict__["dropped"] == 50
    assert not [record for record in caplog.records if record.exc_info]


def test_an_endpoint_that_comes_and_goes_is_one_trouble(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.says = lambda spans: DOWN if spans[0].span_id % 2 else Delivery()
    pace = Pace(batch=1, linger=0, tries=1, first_rest=0, longest_rest=0, steady=60)
    with emitting(desk, pace=pace) as emitter:
        for number in range(20):
            emitter.offer(span(number))
        wait_until(lambda: emitter.counts().pending == 0, "all of them to be sent")
        assert dropped(emitter.counts()) == {"failed": 10}
    assert len(lines(caplog, "spans cannot be exported")) == 1
    assert lines(caplog, "spans are exported again") == []


def test_trouble_that_lasts_is_not_over(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    desk.says = lambda _: DOWN
    with emitting(desk, pace=replace(SWIFT, batch=1, tries=1, steady=0.01)) as emitter:
        for number in range(10):
            emitter.offer(span(number))
        wait_until(lambda: emitter.counts().pending == 0, "all of them to be given up")
        with pytest.raises(AssertionError, match="in vain"):
            wait_until(lambda: not emitter.counts().broken, "an end of the trouble", timeout=0.2)
    assert len(lines(caplog, "spans cannot be exported")) == 1
    assert lines(caplog, "spans are exported again") == []


def test_an_endpoint_that_asks_for_a_rest_gets_it(desk: Desk) -> None:
    desk.says = lambda _: Delivery(loss="failed", again=True, wait=3600)
    with emitting(desk, pace=Pace(batch=1, linger=0, first_rest=0, longest_rest=0, longest_wait=60)) as emitter:
        emitter.offer(span(1))
        assert desk.entered.wait(5)
        with pytest.raises(AssertionError, match="in vain"):
            wait_until(lambda: len(desk.taken) > 1, "another attempt", timeout=0.2)


def test_closing_cuts_a_rest_short_and_tries_once_more(desk: Desk) -> None:
    desk.says = lambda _: DOWN
    emitter = Emitter(desk, endpoint="e", queue_size=10, pace=Pace(batch=1, linger=0, first_rest=60))
    emitter.start()
    emitter.offer(span(1))
    assert desk.entered.wait(5)
    wait_until(lambda: emitter.counts().broken, "the first failure")
    desk.says = lambda _: Delivery()
    emitter.offer(span(2))
    emitter.close(5)
    assert desk.taken == [[1], [1], [2]]
    assert emitter.counts().exported == 2


def test_closing_leaves_an_endpoint_that_hangs(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.gate.clear()
    emitter = Emitter(desk, endpoint="e", queue_size=10, pace=SWIFT)
    emitter.start()
    for number in range(7):
        emitter.offer(span(number))
    assert desk.entered.wait(5)
    emitter.close(0.1)
    assert emitter.counts().pending == 0
    assert dropped(emitter.counts()) == {"failed": 7}
    assert lines(caplog, "spans were given up at the end")[0].__dict__["count"] == 7
    # What the thread that was left behind finds out changes nothing any more.
    desk.gate.set()
    wait_until(lambda: not [t for t in threading.enumerate() if t.name == "qobserve-otlp"], "its end")
    assert emitter.counts().exported == 0
    assert dropped(emitter.counts()) == {"failed": 7}


def test_after_the_end_nothing_is_taken(desk: Desk) -> None:
    with emitting(desk) as emitter:
        pass
    assert not emitter.offer(span(1))
    assert dropped(emitter.counts()) == {"failed": 1}
    emitter.close(1)
    assert dropped(emitter.counts()) == {"failed": 1}


def test_one_that_was_never_started_can_be_closed(desk: Desk) -> None:
    emitter = Emitter(desk, endpoint="e", queue_size=10)
    emitter.offer(span(1))
    emitter.close(1)
    assert dropped(emitter.counts()) == {"failed": 1}
    assert desk.closed == 1


def test_counts_are_a_value(desk: Desk) -> None:
    counts = Emitter(desk, endpoint="e", queue_size=10).counts()
    with pytest.raises(TypeError):
        counts.dropped["failed"] = 1  # type: ignore[index] # that is the point
    with pytest.raises(AttributeError):
        counts.pending = 1  # type: ignore[misc] # likewise


@given(
    st.lists(st.sampled_from([Delivery(), DOWN, REFUSED, Delivery(loss="refused", rejected=1)]), max_size=6),
    st.integers(0, 30),
    st.integers(1, 10),
)
def test_no_span_is_lost_or_counted_twice(answers: list[Delivery], offered: int, queue_size: int) -> None:
    desk = Desk()
    left = iter(answers)
    desk.says = lambda _: next(left, Delivery())
    pace = Pace(batch=3, linger=0, tries=2, first_rest=0, longest_rest=0)
    with emitting(desk, queue_size=queue_size, pace=pace) as emitter:
        for number in range(offered):
            emitter.offer(span(number))
            counts = emitter.counts()
            assert counts.exported + sum(counts.dropped.values()) + counts.pending == number + 1
            assert counts.pending <= queue_size
    counts = emitter.counts()
    assert counts.pending == 0
    assert counts.exported + sum(counts.dropped.values()) == offered
