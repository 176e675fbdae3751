"""What was read of a stream, held against what Redis says was written: gaps, and what makes up for them.

The rule. A ledger has a place as its base and counts what is read beyond it. Another place is looked at now and then.
As soon as everything up to that place has been read, the two are compared:

    missed   = entries-added there - entries-added at the base - entries read between the two
    made up  = total there - total at the base - events of that kind read between the two

Both are exact however busy the queue is, since a place's parts are of one moment, and since BullMQ writes an event and
its total in one script. Totals are made up only where something was missed: `completed` and `failed` from `metrics:*`,
`added` from `id`, which also counts the attempts that were turned away. Stretches without a gap prove whether a total
can be trusted: not every worker may keep metrics. What cannot be made up is said to be partial.

A stream that was never trimmed (entries-added = length) had lost nothing when it was looked at, whatever else the
figures say: it may have been deleted, and begun again. Before Redis 7 there is no entries-added: a gap is known by the
oldest retained entry being younger than the last one that was read, and its size only as a lower bound.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qobserve.model.events import entry_id
from qobserve.reader.follow_place import NOWHERE, START, Place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.model.event import Event
    from qobserve.model.reply import Reply
    from qobserve.reader.follow_place import EntryId

UNTOLD = ("retried", "stalled", "delayed", "deduplicated", "removed", "retries_exhausted", "attempts_failed")
"""Totals for which nothing but the events speaks."""

TOTALS = {"completed": ("completed",), "failed": ("failed",), "added": ("added", "duplicated", "deduplicated")}
"""By total that can be made up: the events that its store counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a comparison came to.

    Attributes:
        missed: How many events were trimmed before they were read.
        made_up: By kind, what is to be added to a total.
        partial: Kinds whose totals are lower bounds from now on.
    """

    missed: int = 0
    made_up: Mapping[str, int] = field(default_factory=dict)
    partial: tuple[str, ...] = ()


NOTHING_FOUND = Found()


@dataclass(slots=True)
class Account:
    """One total that survives trimming, against what was read of it since `base`; `owed` when a gap lies between."""

    base: int | None = None
    seen: int = 0
    owed: bool = False
    trusted: bool = True

    def settle(self, total: int, *, gap: bool) -> int | None:
        """Move the base to `total`; what to make up, or None when that cannot be told."""
        behind = None if self.base is None else total - self.base - self.seen
        owed = self.owed or gap
        if not owed and behind is not None and (behind or self.seen):
            self.trusted = behind == 0
        self.base, self.seen, self.owed = total, 0, False
        if not owed:
            return 0
        return behind if behind is not None and behind >= 0 and total and self.trusted else None


class Ledger:
    """The accounts of one stream.

    Args:
        base: The place beyond which entries are counted.
        reach: Up to where the stream had been read when its first entry was last looked at.
    """

    def __init__(self, base: Place, reach: EntryId) -> None:
        self.base = base
        self.reach = reach
        self.entries = 0
        self.turned_away = False
        self.accounts = {kind: Account(total) for kind, total in _totals(base).items()}
        self._pending: Place | None = None
        self._looked_from = reach

    @property
    def checks_each_read(self) -> bool:
        """Whether a gap would go unnoticed if the stream were not looked at after every read."""
        return self.base.added is None

    @property
    def added(self) -> int | None:
        """How many entries had ever been written up to the last one that was read, if nothing was missed."""
        return None if self.base.added is None else self.base.added + self.entries

    @property
    def totals(self) -> Mapping[str, int | None]:
        """What the store's totals were there, likewise."""
        return {kind: None if x.base is None else x.base + x.seen for kind, x in self.accounts.items()}

    @property
    def waiting(self) -> bool:
        """Whether a place has been looked at, and entries before it are still to be read."""
        return self._pending is not None

    def read(self, entries: Sequence[Reply], events: Sequence[Event]) -> Found:
        """Count entries of the stream, and the events that they came to; oldest first."""
        begin = _after(entries, self.base.last)
        if self._pending is None:
            self._count(entries[begin:], events[_event_after(events, self.base.last) :])
            return NOTHING_FOUND
        end, event_end = _after(entries, self._pending.last), _event_after(events, self._pending.last)
        self._count(entries[begin:end], events[_event_after(events, self.base.last) : event_end])
        if end == len(entries) and (not entries or _identity(entries[-1]) < self._pending.last):
            return NOTHING_FOUND
        found = self._settle(self._pending)
        self._count(entries[end:], events[event_end:])
        return found

    def look(self, place: Place, cursor: EntryId) -> Found:
        """Take a place that was looked at when everything up to `cursor` had been read."""
        self._looked_from = cursor
        if place.last > cursor:
            self._pending = place
            return NOTHING_FOUND
        return self._settle(place)

    def read_all(self) -> Found:
        """Take that there was nothing more to read: what is left before the pending place is gone."""
        return NOTHING_FOUND if self._pending is None else self._settle(self._pending)

    def _count(self, entries: Sequence[Reply], events: Sequence[Event]) -> None:
        self.entries += len(entries)
        kinds = [event.kind for event in events]
        for total, counted in TOTALS.items():
            self.accounts[total].seen += sum(map(kinds.count, counted))
        self.turned_away = self.turned_away or "duplicated" in kinds or "deduplicated" in kinds

    def _settle(self, place: Place) -> Found:
        missed = self._missed(place)
        totals = _totals(place)
        gap = missed is None or missed > 0
        made_up: dict[str, int] = {}
        partial: list[str] = []
        for kind, account in self.accounts.items():
            total = totals[kind]
            if total is None:
                account.owed = account.owed or gap
                continue
            behind = account.settle(total, gap=gap)
            if behind is None:
                partial.append(kind)
            elif behind:
                made_up[kind] = behind
        if made_up.get("added") and self.turned_away:
            partial.append("added")
        if "failed" in made_up:
            made_up["attempts_failed"] = made_up["failed"]
        if gap:
            partial += UNTOLD
        self.base, self.entries, self._pending, self.reach = place, 0, None, self._looked_from
        least = max(1, sum(made_up.get(kind, 0) for kind in TOTALS)) if missed is None else missed
        return Found(missed=least, made_up=made_up, partial=tuple(partial))

    def _missed(self, place: Place) -> int | None:
        """How many; None for an unknown number, but not none."""
        if place.added is None or self.base.added is None:
            return None if self._may_have_lost(place) else 0
        whole = place.added == place.length
        anew = whole and place.first is not None and place.first > self.base.last > START
        if anew or (whole and self._looked_from >= place.last):
            return 0
        missed = place.added - self.base.added - self.entries
        if missed >= 0:
            return missed
        # Fewer than were read: a failover took the last ones back, unless the queue itself was deleted.
        attempts, before = place.attempts, self.base.attempts
        begun_anew = attempts is not None and before is not None and attempts < before
        return max(place.added - self.entries, 0) if begun_anew else 0

    def _may_have_lost(self, place: Place) -> bool:
        if self.reach == START:
            account = self.accounts["added"]
            return place.attempts is not None and place.attempts > (account.base or 0) + account.seen
        return place.last > self.reach and (place.first is None or place.first > self.reach)


def ledger_from_nothing() -> Ledger:
    """For a stream of which everything was to be read from its first entry on."""
    return Ledger(NOWHERE, START)


def ledger_resumed(cursor: EntryId, added: int | None, totals: Mapping[str, int | None]) -> Ledger:
    """For a stream that was read up to `cursor` in an earlier life."""
    base = Place(
        last=cursor,
        added=added,
        completed=totals.get("completed"),
        failed=totals.get("failed"),
        attempts=totals.get("added"),
    )
    return Ledger(base, cursor)


def _totals(place: Place) -> dict[str, int | None]:
    return {"completed": place.completed, "failed": place.failed, "added": place.attempts}


def _after(entries: Sequence[Reply], identity: EntryId) -> int:
    if not entries or _identity(entries[0]) > identity:
        return 0
    return bisect_right(entries, identity, key=_identity)


def _event_after(events: Sequence[Event], identity: EntryId) -> int:
    if not events or (events[0].ms, events[0].seq) > identity:
        return 0
    return bisect_right(events, identity, key=lambda event: (event.ms, event.seq))


def _identity(entry: Reply) -> EntryId:
    match entry:
        case [bytes(identity), *_]:
            return entry_id(identity)
    return START
