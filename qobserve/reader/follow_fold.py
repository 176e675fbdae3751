"""Feeds what was read to the fold, asks the hashes what it leaves open, and tells the listeners; all in small slices.

Reading goes on meanwhile: what it brings waits in a backlog, whose bound makes the reader wait in turn.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol

from qobserve.reader.follow_stream import Telling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.lifecycle import Lifecycle
    from qobserve.model.questions import Question
    from qobserve.model.run import Card
    from qobserve.reader.follow_sink import Sinks
    from qobserve.reader.follow_stream import Batch

LOG = logging.getLogger("qobserve.reader")

MOST_WAITING = 20_000
"""Events in the backlog before the reader waits."""

_SLICE = 200
_SLICE_SECONDS = 0.008
_EVER = 2**63
_ROUND, _ROUND_UNANSWERED = 0.1, 1.0
_QUIET = 2
"""Rounds without a question after which there is none: the fold keeps some back for one round."""


class Cards(Protocol):
    """Whoever can read the hashes of jobs."""

    async def cards(self, questions: Sequence[Question]) -> dict[Question, Card | None]:
        """The cards of those that could be asked for; the others are left out, and may be asked for again."""
        ...


class Folder:
    """The one who feeds a lifecycle.

    Args:
        lifecycle: The fold.
        sinks: Who is told.
        cards: Who reads hashes.
        alias: The target's name in logs.
    """

    def __init__(self, lifecycle: Lifecycle, sinks: Sinks, cards: Cards, alias: str) -> None:
        self._alias = alias
        self._complained = False
        self._lifecycle = lifecycle
        self._sinks = sinks
        self._cards = cards
        self._backlog: deque[Batch] = deque()
        self._now: Batch | None = None
        self._waiting = 0
        self._quiet_rounds = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def idle(self) -> bool:
        """Whether everything that was read has been told."""
        return self._empty.is_set() and self._quiet_rounds >= _QUIET

    @property
    def empty(self) -> bool:
        """Whether everything that was read has been folded; questions may be open."""
        return self._empty.is_set()

    def put(self, batch: Batch) -> None:
        """Take a batch; returns at once."""
        self._backlog.append(batch)
        self._waiting += len(batch.events)
        self._quiet_rounds = 0
        self._news.set()
        self._empty.clear()
        if self._waiting >= MOST_WAITING:
            self._room.clear()

    async def room(self) -> None:
        """Wait until more may be read."""
        await self._room.wait()

    def forget(self, queue: QueueId) -> None:
        """Drop what waits and what is known of a queue."""
        kept = [batch for batch in self._backlog if batch.queue != queue]
        self._backlog = deque(kept)
        self._waiting = sum(len(batch.events) for batch in kept)
        if self._now is not None and self._now.queue == queue:
            self._now = None
        self._lifecycle.forget(queue)

    async def emptied(self) -> None:
        """Wait until everything that was read is folded."""
        await self._empty.wait()

    async def run(self) -> None:
        """Fold, round after round, until cancelled."""
        unanswered = 0
        while True:
            self._news.clear()
            try:
                await self.fold()
                unanswered = await self._ask()
            except Exception as exc:  # noqa: BLE001 - a defect must not end following for good
                self._complain(exc)
            await self._news_within(None if self.idle else _ROUND_UNANSWERED if unanswered else _ROUND)

    async def fold(self) -> None:
        """Fold all that waits."""
        began = time.monotonic()
        while self._backlog:
            batch = self._backlog.popleft()
            self._waiting = max(self._waiting - len(batch.events), 0)
            self._now = batch
            for first in range(0, max(len(batch.events), 1), _SLICE):
                if not self._wants(batch):
                    break
                self._feed(batch, first)
                if time.monotonic() - began > _SLICE_SECONDS:
                    await asyncio.sleep(0)
                    began = time.monotonic()
            if self._waiting < MOST_WAITING:
                self._room.set()
        self._empty.set()

    def _wants(self, batch: Batch) -> bool:
        """Whether the queue of the batch in hand has not been forgotten meanwhile."""
        return self._now is batch

    def _feed(self, batch: Batch, first: int) -> None:
        if not batch.events:
            self._lifecycle.forget(batch.queue)
            return
        events = batch.events[first : first + _SLICE]
        told = self._lifecycle.feed(batch.queue, events, counted_from_ms=0 if batch.telling is Telling.LIVE else _EVER)
        if batch.telling is not Telling.REPLAYED:
            self._sinks.take_all(told)

    async def _ask(self) -> int:
        """Ask what the events leave open; how many questions were not answered."""
        questions = self._lifecycle.questions()
        self._quiet_rounds = 0 if questions else self._quiet_rounds + 1
        answers = await self._cards.cards(questions) if questions else {}
        began = time.monotonic()
        for question, card in answers.items():
            self._sinks.take_all(self._lifecycle.answer(question, card))
            if time.monotonic() - began > _SLICE_SECONDS:
                await asyncio.sleep(0)
                began = time.monotonic()
        return len(questions) - len(answers)

    def _complain(self, exc: Exception) -> None:
        level = logging.DEBUG if self._complained else logging.WARNING
        self._complained = True
        facts = {"target": self._alias, "error": repr(exc)}
        LOG.log(level, "events were lost by a defect of qobserve, please report it", extra=facts, exc_info=True)

    async def _news_within(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return
