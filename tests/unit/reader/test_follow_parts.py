"""The small parts of a follower: its backlog, its log, its commands."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import hiredis
import pytest

from qobserve.errors import RedisTimeout
from qobserve.model.event import Event
from qobserve.model.keys import queue_id
from qobserve.model.questions import Question, Why
from qobserve.model.run import Card, Counted
from qobserve.reader.follow_fold import MOST_WAITING, Folder
from qobserve.reader.follow_health import Health
from qobserve.reader.follow_reads import Together, plan_alone
from qobserve.reader.follow_sink import Sinks
from qobserve.reader.follow_stream import Batch, Stream, Telling

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.lifecycle import Told

QUEUE = queue_id("bull", "q")
QUESTION = Question(queue=QUEUE, job=b"1", why=Why.CARD)


class Fold:
    """A lifecycle that takes its time, and asks what it is told to ask."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.fed: list[tuple[int, int]] = []
        self.open: list[Question] = []
        self.answers: list[Card | None] = []
        self.forgotten: list[QueueId] = []

    def feed(self, queue: QueueId, events: Sequence[Event], *, counted_from_ms: int) -> list[Told]:
        time.sleep(self.seconds)
        self.fed += [(event.ms, counted_from_ms) for event in events]
        return [Counted(queue=queue, kind="added", count=len(events))]

    def questions(self) -> list[Question]:
        return list(self.open)

    def answer(self, question: Question, card: Card | None) -> list[Told]:
        self.open.remove(question)
        self.answers.append(card)
        return []

    def forget(self, queue: QueueId) -> None:
        self.forgotten.append(queue)


class Hashes:
    """Answers questions once it is `up`."""

    def __init__(self) -> None:
        self.up = True

    async def cards(self, questions: Sequence[Question]) -> dict[Question, Card | None]:
        return dict.fromkeys(questions, Card(name="j")) if self.up else {}


class Adding:
    """A listener that adds up."""

    def __init__(self) -> None:
        self.added = 0

    def take(self, value: Told) -> None:
        assert isinstance(value, Counted)
        self.added += value.count


@asynccontextmanager
async def folding(fold: Fold, hashes: Hashes) -> AsyncIterator[tuple[Folder, Adding]]:
    adding = Adding()
    folder = Folder(fold, Sinks([adding], "test"), hashes, "test")  # type: ignore[arg-type, list-item]  # stand-ins
    task = asyncio.create_task(folder.run())
    try:
        yield folder, adding
    finally:
        task.cancel()


async def idle(folder: Folder) -> None:
    async with asyncio.timeout(5):
        while not folder.idle:  # noqa: ASYNC110 - what is asked is a state that is reached in rounds
            await asyncio.sleep(0.01)


def events(moments: Iterable[int]) -> list[Event]:
    return [Event(ms, 0, "added") for ms in moments]


async def test_what_was_told_before_is_fed_but_not_told() -> None:
    fold = Fold()
    async with folding(fold, Hashes()) as (folder, adding):
        folder.put(Batch(queue=QUEUE, events=events([1]), telling=Telling.REPLAYED))
        folder.put(Batch(queue=QUEUE, events=events([2]), telling=Telling.PAST))
        folder.put(Batch(queue=QUEUE, events=events(range(3, 1_000))))
        folder.put(Batch(queue=QUEUE, events=()))
        await idle(folder)
    assert fold.fed[:3] == [(1, 2**63), (2, 2**63), (3, 0)]
    assert [ms for ms, _ in fold.fed] == list(range(1, 1_000))
    assert adding.added == 998
    assert fold.forgotten == [QUEUE]


async def test_a_question_is_asked_until_it_is_answered() -> None:
    fold, hashes = Fold(), Hashes()
    hashes.up = False
    fold.open = [QUESTION]
    async with folding(fold, hashes) as (folder, _):
        folder.put(Batch(queue=QUEUE, events=events([1])))
        await asyncio.sleep(0.2)
        assert not folder.idle
        assert folder.empty
        hashes.up = True
        await idle(folder)
    assert fold.answers == [Card(name="j")]


async def test_the_reader_waits_while_the_backlog_is_full() -> None:
    async with folding(Fold(0.001), Hashes()) as (folder, adding):
        folder.put(Batch(queue=QUEUE, events=events(range(MOST_WAITING))))
        folder.put(Batch(queue=QUEUE, events=events(range(MOST_WAITING))))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(folder.room(), 0.0001)
        await asyncio.wait_for(folder.room(), 5)
        await asyncio.wait_for(folder.emptied(), 5)
    assert adding.added == 2 * MOST_WAITING


async def test_a_forgotten_queue_leaves_the_backlog() -> None:
    fold, other = Fold(0.001), queue_id("bull", "other")
    async with folding(fold, Hashes()) as (folder, _):
        folder.put(Batch(queue=QUEUE, events=events(range(MOST_WAITING))))
        folder.put(Batch(queue=other, events=events([5])))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        folder.forget(QUEUE)
        await idle(folder)
    assert fold.forgotten == [QUEUE]
    assert 0 < len(fold.fed) < MOST_WAITING
    assert fold.fed[-1] == (5, 0)


async def test_a_defect_of_the_fold_costs_a_batch_and_one_line(caplog: pytest.LogCaptureFixture) -> None:
    fold = Fold()
    feed = fold.feed

    def broken(queue: QueueId, given: Sequence[Event], *, counted_from_ms: int) -> list[Told]:
        if given[0].ms < 3:
            raise LookupError("nobody foresaw this")
        return feed(queue, given, counted_from_ms=counted_from_ms)

    fold.feed = broken  # type: ignore[method-assign, assignment]  # the defect
    async with folding(fold, Hashes()) as (folder, adding):
        for moment in (1, 2, 3):
            folder.put(Batch(queue=QUEUE, events=events([moment])))
        await idle(folder)
    assert adding.added == 1
    assert len(caplog.records) == 1


def test_health_is_told_when_it_changes_and_only_when_events_are_read_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    health, gone = Health("test"), RedisTimeout("gone")
    health.reads("a")
    for part in ("a", "b", "a"):
        health.fails(part, gone)
    assert health.failing("a")
    health.over("a")
    health.over("b")
    assert not health.good
    health.fails("c", gone)
    health.reads("d")
    assert not health.good
    health.reads("c")
    assert health.good
    health.fails("c", gone)
    said = [record.getMessage() for record in caplog.records]
    assert said == ["events cannot be followed", "events are followed again", "events cannot be followed"]


def streams(count: int) -> list[Stream]:
    return [Stream(queue_id("bull", str(number))) for number in range(count)]


def commands(packed: bytes) -> list[list[bytes]]:
    reader = hiredis.Reader()
    reader.feed(packed)
    found: list[list[bytes]] = []
    while (command := reader.gets()) is not False:
        found.append(command)
    return found


def test_streams_that_rest_share_commands_which_are_packed_once() -> None:
    together, resting = Together(single=False), streams(120)
    together.set(resting)
    (first,) = together.trips()
    assert [len(read.streams) for read in first] == [50, 50, 20]
    assert commands(first[2].packed)[0][:4] == [b"XREAD", b"COUNT", b"8", b"STREAMS"]
    resting[60].cursor = b"7-0"
    (second,) = together.trips()
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, False, True]
    assert commands(second[1].packed)[0].count(b"7-0") == 1


def test_in_a_cluster_no_command_names_two_queues() -> None:
    together = Together(single=True)
    together.set(streams(600))
    trips = list(together.trips())
    assert [len(trip) for trip in trips] == [500, 100]
    assert all(len(read.streams) == 1 for trip in trips for read in trip)


def test_a_trip_of_busy_streams_asks_for_no_more_than_may_fill_memory() -> None:
    busy = streams(7)
    for stream in busy:
        stream.pace.count = 1_000
    assert [len(trip) for trip in plan_alone(busy)] == [4, 3]
    assert list(plan_alone([])) == []
