"""How much a scrape may read beyond the counts: fixed totals, shared out over the queues.

A few queues are read deeply, so that their ages are exact whatever the order of their lists; thousands are read at
their ends only. The totals bound the cost of a scrape whatever is in the queues.
"""

from __future__ import annotations

from dataclasses import dataclass

from qobserve.reader.questions import ACTIVE_WINDOW, Windows

_WINDOW_TOTAL = 8000
_HASH_TOTAL = 2000
_EVENT_TOTAL = 4000
_EVENTS_AT_ONCE = 1000
_EVENTS_KEPT_TOTAL = 100_000
_EVENTS_KEPT = 1000
_EVENTS_AT_LEAST = 10
_EVENT_BYTES = 1 << 20
FIRST_READ = 32
"""Entries read of a stream whose entries may have any size, for all that is known."""

MOST_LEVELS = 64
"""Priority levels followed in one queue; with more, the age of its oldest prioritized job is a lower bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One queue's share in a scrape of so many queues.

    Attributes:
        windows: Ids read of each list.
        hashes: Hashes of waiting jobs read, and as many of prioritized ones.
        payloads: Payload sizes asked.
        active: Active jobs looked at.
        events_kept: Events remembered.
    """

    windows: Windows
    hashes: int
    payloads: int
    active: int
    events_kept: int


def share(queues: int, schedulers: int) -> Budget:
    """The share of one of so many queues."""
    hashes = _clamp(_HASH_TOTAL // max(queues, 1), 2, 100)
    return Budget(
        windows=Windows(jobs=_clamp(_WINDOW_TOTAL // max(queues, 1), 8, 100), schedulers=schedulers),
        hashes=hashes,
        payloads=_clamp(hashes // 2, 1, 30),
        active=_clamp(hashes // 2, 1, ACTIVE_WINDOW),
        events_kept=_clamp(_EVENTS_KEPT_TOTAL // max(queues, 1), 20, _EVENTS_KEPT),
    )


class EventBudget:
    """Entries of event streams that one scrape may still read.

    Where more queues ask than can be served, they are served by turns: `turn` counts the scrapes, `asking` is how many
    queues asked in the last one.
    """

    def __init__(self, queues: int, *, turn: int = 0, asking: int = 0) -> None:
        self._each = _clamp(_EVENT_TOTAL // max(queues, 1), _EVENTS_AT_LEAST, _EVENTS_AT_ONCE)
        self._served = _EVENT_TOTAL // self._each
        self._queues = max(asking, self._served)
        self._first = turn * self._served % self._queues
        self._left = _EVENT_TOTAL
        self.asked = 0

    def take(self, entry_bytes: int, most: int = _EVENTS_AT_ONCE) -> int:
        """How many entries of a stream with entries of this size to read; 0 when it is not the queue's turn.

        A return value may be as large as Redis allows: the answer stays near one MiB, as far as the sizes seen tell.

        Args:
            entry_bytes: The largest size seen.
            most: More are not read.
        """
        turn = (self.asked - self._first) % self._queues
        self.asked += 1
        if turn >= self._served:
            return 0
        count = min(self._each, most, self._left, max(_EVENT_BYTES // max(entry_bytes, 1), 1))
        self._left -= count
        return count


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))
