"""One queue's stream as it is followed: where to begin, how far it has been read, and whether it began anew."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING
from zlib import crc32

from qobserve.model.event import decode
from qobserve.model.events import entry_id
from qobserve.reader.checkpoint import SavedStream
from qobserve.reader.follow_ledger import NOTHING_FOUND, Ledger, ledger_from_nothing, ledger_resumed
from qobserve.reader.follow_pace import Pace
from qobserve.reader.follow_place import DEFAULT_LIMIT, START, id_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.model.event import Event
    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply
    from qobserve.reader.follow_ledger import Found
    from qobserve.reader.follow_place import EntryId, Place

_LAST_IN_MS = 2**64 - 1

_MANY = 1_000
_SOON, _LATER = 1.0, 5.0
_RESTING = 30.0
"""Seconds between two checks of a stream that rests; up to twice that, so that not all are checked at once."""
_SIZE_PER_SECOND = 1 << 20
_MEND = 5.0


class Telling(Enum):
    """What becomes of events: counted, told as past, or only remembered because they were told in an earlier life."""

    LIVE = auto()
    PAST = auto()
    REPLAYED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Events of one queue in their order; with none, the queue's jobs are to be forgotten."""

    queue: QueueId
    events: Sequence[Event]
    telling: Telling = Telling.LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """From when on events count.

    Attributes:
        start_ms: When following the target began, on its clock.
        first_look: Whether the queue was there when we first looked.
        past: Whether all that is retained is to be read, and told as past.
    """

    start_ms: int
    first_look: bool
    past: bool


class Stream:
    """The state of one stream; it outlives connections, and moves with its queue from server to server."""

    def __init__(self, queue: QueueId) -> None:
        self.queue = queue
        self.key = queue.key(b"events")
        self.cursor = b"0-0"
        self.ledger = ledger_from_nothing()
        self.pace = Pace(limit=DEFAULT_LIMIT)
        self.live_from = self.told_from = START
        self.begun = False
        self.more = self.suspect = False
        self.stirred = True
        self.check_due = self.mend_due = self.behind_since = 0.0
        self.trouble = ""
        self._place_size = 0
        self._rest = _RESTING * (1 + crc32(self.key) % 1000 / 1000)

    @property
    def at(self) -> EntryId:
        """How far it has been read."""
        return entry_id(self.cursor)

    def begin(self, place: Place, beginning: Beginning, now: float) -> None:
        """Begin a stream that has never been followed.

        What was written before our start does not count. A stream of which more was trimmed than that is counted from
        its very first entry if it is new; one that may have been there before us, from its present end.
        """
        start = (beginning.start_ms, 0)
        base: Place | None = place
        if place.last < start:
            self.live_from = place.last
        elif place.first is not None and place.first < start:
            self.live_from = (beginning.start_ms - 1, _LAST_IN_MS)
        elif not beginning.first_look or place.added == place.length:
            self.live_from, base = START, None
        else:
            self.live_from = place.last
        self._begin_at(START if beginning.past else self.live_from, place, base)
        self._plan_check(place, now)

    def resume(self, saved: SavedStream, *, past: bool) -> None:
        """Go on where an earlier life of ours ended; with `past` what it told is read again, to remember open jobs."""
        self.live_from = self.told_from = saved.cursor
        self.ledger = ledger_resumed(saved.cursor, saved.added, saved.totals)
        self.cursor = id_bytes(START if past else saved.cursor)
        self.begun = True

    def saved(self) -> SavedStream:
        """What `resume` needs."""
        return SavedStream(queue=self.queue, cursor=self.at, added=self.ledger.added, totals=self.ledger.totals)

    def stands_apart(self, poll: float, *, already: bool) -> bool:
        """Whether it must be read by itself; the arguments are those of `Pace.busy`."""
        return bool(self.trouble) or self.more or self.suspect or self.pace.busy(poll, already=already)

    def due(self, poll: float) -> float:
        """When to read it, if it is read by itself."""
        if self.trouble:
            return self.mend_due
        return 0.0 if self.more or self.suspect else self.pace.due(poll)

    def troubled(self, what: str, now: float) -> bool:
        """Remember that it cannot be read, and leave it alone for a while; whether that is new."""
        new = what != self.trouble
        self.stirred = True
        self.trouble, self.mend_due, self.more, self.suspect = what, now + _MEND, False, False
        return new

    def mended(self) -> bool:
        """Remember that it can be read; whether that is new."""
        new = bool(self.trouble)
        self.trouble, self.suspect = "", False
        if new:
            self.check_due = 0.0
        return new

    def rest(self, now: float) -> Found:
        """Take that there was nothing after the cursor; one that is not `stirred` need not hear it again."""
        self.more = False
        self.pace.note(now, 0, 0, 0)
        self.stirred = self.pace.rate >= 1
        return self.ledger.read_all()

    def look(self, place: Place, now: float) -> tuple[Found, bool]:
        """Take a place: what it tells, and whether the stream has begun anew."""
        self.pace.limit = place.limit or DEFAULT_LIMIT
        self.stirred = True
        self._plan_check(place, now)
        if place.last >= self.at:
            return self.ledger.look(place, self.at), False
        first = self.ledger.base.first
        whole = place.added is not None and place.added == place.length
        anew = place.last == START or (whole and first is not None and place.first != first)
        self._begin_at(START if anew else place.last, place, None if anew else place)
        self.live_from = self.told_from = START
        return (self.ledger.look(place, START) if anew else NOTHING_FOUND), anew

    def take(self, entries: Sequence[Reply], now: float, *, asked: int) -> tuple[list[Batch], Found]:
        """Take what was read after the cursor when so many entries were asked for."""
        events = [event for event in map(decode, entries) if event is not None]
        found = self.ledger.read(entries, events)
        last = _identity(entries[-1]) if entries else None
        span = events[-1].ms - events[0].ms if events else 0
        self.pace.note(now, len(entries), _size(entries), span)
        more = len(entries) >= asked and last is not None
        if not self.more:
            self.behind_since = now
        self.more = more
        self.stirred = True
        if last is not None:
            self.cursor = last
            self._plan_check_after_news(now)
        return self._batches(events), found

    def _begin_at(self, cursor: EntryId, place: Place, base: Place | None) -> None:
        self.cursor = id_bytes(cursor)
        self.ledger = ledger_from_nothing() if base is None else Ledger(base, base.last)
        self.pace.limit = place.limit or DEFAULT_LIMIT
        self.begun = self.stirred = True

    def _plan_check(self, place: Place, now: float) -> None:
        """Where entries are large, so is the reply that tells a place: at most a megabyte a second of it."""
        self._place_size = place.size
        self.check_due = now + max(self._rest, place.size / _SIZE_PER_SECOND)

    def _plan_check_after_news(self, now: float) -> None:
        wait = _SOON if self.ledger.entries >= _MANY else _LATER
        if self.ledger.checks_each_read:
            wait = 0.0
        self.check_due = min(self.check_due, now + max(wait, self._place_size / _SIZE_PER_SECOND))

    def _batches(self, events: list[Event]) -> list[Batch]:
        if not events or (events[0].ms, events[0].seq) > self.live_from:
            return [Batch(queue=self.queue, events=events)] if events else []
        told = bisect_right(events, self.told_from, key=_at)
        live = bisect_right(events, self.live_from, key=_at)
        parts = (
            (Telling.REPLAYED, events[:told]),
            (Telling.PAST, events[told:live]),
            (Telling.LIVE, events[max(told, live) :]),
        )
        return [Batch(queue=self.queue, events=part, telling=telling) for telling, part in parts if part]


def _at(event: Event) -> EntryId:
    return event.ms, event.seq


def _identity(entry: Reply) -> bytes | None:
    match entry:
        case [bytes(identity), *_]:
            return identity
    return None


def _size(entries: Sequence[Reply]) -> int:
    """Bytes of all fields; runs in C, as every entry passes here."""
    try:
        return sum(map(len, chain.from_iterable(map(itemgetter(1), entries))))  # type: ignore[arg-type]  # else it raises
    except (TypeError, IndexError):  # a stranger's server
        return 0
