"""Follows the streams of the queues of one server, on one connection."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.model.reply import Fault
from qobserve.reader.cards import read_cards
from qobserve.reader.connection import pack
from qobserve.reader.follow_line import Line
from qobserve.reader.follow_pace import poll_interval
from qobserve.reader.follow_reads import Together, by_key, plan_alone, read_places
from qobserve.reader.follow_stream import Batch, Beginning
from qobserve.reader.whole_server import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from qobserve.config import TargetSettings
    from qobserve.model.questions import Question
    from qobserve.model.reply import Reply
    from qobserve.model.run import Card
    from qobserve.reader.connection import Link
    from qobserve.reader.follow_fold import Folder
    from qobserve.reader.follow_reads import Read
    from qobserve.reader.follow_report import Report
    from qobserve.reader.follow_stream import Stream

_SCAN = 0.25
_AGAIN = 30.0


@dataclass(slots=True, kw_only=True)
class Following:
    """What the followers of one target's servers share.

    Attributes:
        settings: Which Redis.
        past: Whether what is retained is read from its beginning.
        folder: Takes what was read.
        report: Tells of gaps, and of streams that cannot be read.
        start_ms: When following began, on the target's clock; None before the first contact.
    """

    settings: TargetSettings
    past: bool
    folder: Folder
    report: Report
    start_ms: int | None = None


class ServerFollower:
    """Reads streams from one server, round after round.

    Attributes:
        line: The connection.
        read_at: When the last round ended (`time.monotonic`).
    """

    def __init__(self, link: Link, following: Following) -> None:
        self.line = Line(link, following.settings.timeout, reopens=not following.settings.sentinel)
        self.read_at = time.monotonic()
        self._following = following
        self._streams: dict[Stream, None] = {}
        self._new: dict[Stream, bool] = {}
        self._apart: dict[Stream, None] = {}
        self._together = Together(single=following.settings.cluster)
        self._regroup = True
        self._poll = poll_interval(0)
        self._poll_due = self._scan_due = 0.0
        self._changed = asyncio.Event()

    @property
    def streams(self) -> Iterable[Stream]:
        """All that it follows."""
        return self._streams

    @property
    def behind(self) -> Sequence[Stream]:
        """The streams that had more to read when they were last read, or have yet to be read."""
        return [
            *(stream for stream in self._apart if stream.more),
            *(stream for stream in self._new if not stream.trouble),
        ]

    def follow(self, streams: Iterable[Stream], *, first_look: bool) -> None:
        """Follow these, and no others; `first_look` tells whether those that are new may have been there before us."""
        wanted = dict.fromkeys(streams)
        self._new = {stream: self._new.get(stream, first_look) for stream in wanted if not stream.begun}
        self._streams = wanted
        self._apart = {stream: None for stream in self._apart if stream in wanted}
        self._poll = poll_interval(len(wanted))
        self._regroup = True
        self._changed.set()

    async def read(self) -> None:
        """One round: begin what is new, read what is due, hold what was read against what was written.

        Raises:
            RedisError: The server does not serve us.
        """
        if self._following.start_ms is None:
            async with self.line.talk() as talk:
                told, info = await talk.exchange(pack(b"TIME") + pack(b"INFO", b"server"), 2)
            self._following.start_ms = clock(told, info, self.line.where)
        now = time.monotonic()
        if self._new:
            await self._begin([stream for stream in self._new if stream.mend_due <= now])
        await self._trips(plan_alone([stream for stream in self._apart if stream.due(self._poll) <= now]))
        if now >= self._poll_due:
            self._poll_due = now + self._poll
            await self._trips(self._grouped().trips())
        if time.monotonic() >= self._scan_due:
            await self._check()
        self.read_at = time.monotonic()

    async def nap(self) -> None:
        """Sleep until the next round is due, or the streams change."""
        due = min((stream.due(self._poll) for stream in self._apart), default=self._poll_due)
        seconds = min(due, self._poll_due, self._scan_due) - time.monotonic()
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    async def cards(self, questions: Sequence[Question]) -> dict[Question, Card | None]:
        """Read the cards of jobs of this server; those of queues that are elsewhere are left out.

        Raises:
            RedisError: The server does not serve us.
        """
        return await read_cards(self.line, questions)

    def _grouped(self) -> Together:
        if self._regroup:
            self._regroup = False
            self._together.set([x for x in self._streams if x.begun and x not in self._apart])
        return self._together

    async def _begin(self, new: Sequence[Stream]) -> None:
        following = self._following
        for stream, place in await read_places(self.line, new):
            first_look = self._new.get(stream)
            if first_look is None:
                continue  # no longer wanted
            if isinstance(place, Fault):
                following.report.troubled(stream, place)
                continue
            beginning = Beginning(start_ms=following.start_ms or 0, first_look=first_look, past=following.past)
            stream.begin(place, beginning, time.monotonic())
            following.report.found(stream, stream.ledger.look(place, stream.at))
            following.report.mended(stream)
            del self._new[stream]
            self._regroup = True

    async def _check(self) -> None:
        """Look where streams are for which it is time, and compare."""
        now = time.monotonic()
        self._scan_due = now + _SCAN
        due = [x for x in self._streams if x.check_due <= now and x.begun and not x.ledger.waiting]
        for stream, place in await read_places(self.line, due):
            if stream not in self._streams:
                continue
            if isinstance(place, Fault):
                stream.check_due = time.monotonic() + _AGAIN
                continue
            found, anew = stream.look(place, time.monotonic())
            if anew:
                self._following.folder.put(Batch(queue=stream.queue, events=()))
            self._following.report.found(stream, found)

    async def _trips(self, trips: Iterable[list[Read]]) -> None:
        for trip in trips:
            await self._following.folder.room()
            async with self.line.talk() as talk:
                talk.send(b"".join([read.packed for read in trip]))
                for read in trip:
                    (reply,) = await talk.receive(1)
                    self._take(read, reply)
                    del reply  # it may be large, and the next one is on its way
                    await self.line.breathe()

    def _take(self, read: Read, reply: Reply) -> None:
        now = time.monotonic()
        if self.line.is_elsewhere(reply):
            return
        if isinstance(reply, Fault):
            self._faulty(read, reply)
            return
        told = by_key(reply)
        for stream, cursor in zip(read.streams, read.cursors, strict=True):
            entries = told.get(stream.key)
            if entries is None and not stream.stirred:
                continue
            if stream.cursor is cursor and stream in self._streams:  # else another server's by now, or begun anew
                self._take_of(stream, entries, read.count, now)

    def _take_of(self, stream: Stream, entries: Sequence[Reply] | None, asked: int, now: float) -> None:
        report = self._following.report
        if entries is None:
            report.found(stream, stream.rest(now))
        else:
            batches, found = stream.take(entries, now, asked=asked)
            for batch in batches:
                self._following.folder.put(batch)
            report.found(stream, found)
            if stream.ledger.checks_each_read:
                self._scan_due = now
        report.mended(stream)
        self._sort(stream)

    def _faulty(self, read: Read, fault: Fault) -> None:
        """One key that holds no stream spoils the answer for all: ask for each by itself."""
        for stream in read.streams:
            if len(read.streams) == 1:
                self._following.report.troubled(stream, fault)
            stream.suspect = not stream.trouble
            self._sort(stream)

    def _sort(self, stream: Stream) -> None:
        """Read a stream apart from the others where it must be, and else along with them."""
        already = stream in self._apart
        if stream.stands_apart(self._poll, already=already) == already:
            return
        self._regroup = True
        if already:
            del self._apart[stream]
        else:
            self._apart[stream] = None
