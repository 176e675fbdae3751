"""How often a stream is read, and how much of it at once.

BullMQ trims a stream to about 10,000 entries, so what matters is how soon that many could have been written: a stream
is read again after an eighth of that time. Streams that rest or trickle are polled together; how often depends on how
many there are, so that Redis spends well under a hundredth of its time on it. Nothing tells how large the
next entries are: a stream's first read is small, later ones are as large as the last ones' bytes allow.
"""

from __future__ import annotations

from dataclasses import dataclass

GROUP_COUNT = 8
"""Entries of each stream that a poll of many asks for; one that has more is read alone at once."""

MOST_AT_ONCE = 2_000
MOST_IN_A_TRIP = 4_000
"""Entries that may be on their way at the same time, while nothing is known of their size."""

_BYTES_AT_ONCE = 4 << 20
_POLLED_A_SECOND = 5_000
_SHORTEST_POLL, _LONGEST_POLL = 0.05, 1.0
_SHORTEST_READ = 0.01
_SHARE_OF_WINDOW = 8
_LONGEST_HEAVY = 0.5
_LEAST_FOR_A_BURST = 50
_GROWTH = 4


def poll_interval(streams: int) -> float:
    """Seconds between two polls of so many streams."""
    return min(max(streams / _POLLED_A_SECOND, _SHORTEST_POLL), _LONGEST_POLL)


@dataclass(slots=True)
class Pace:
    """The pace of one stream; times are seconds of a monotonic clock.

    Attributes:
        limit: To how many entries the stream is trimmed.
        count: How many entries to ask for next.
        rate: Entries a second, as the last reads had them; it falls by half with each read that has fewer.
    """

    limit: int
    count: int = GROUP_COUNT
    rate: float = 0.0
    read_at: float = 0.0

    def note(self, now: float, entries: int, size: int, span_ms: int) -> None:
        """Take note of a read: how many entries of so many bytes, written in so many ms."""
        many = entries >= _LEAST_FOR_A_BURST
        rate = entries * 1000 / (span_ms + 1) if many else entries / max(now - self.read_at, _SHORTEST_READ)
        self.rate = max(rate, self.rate / 2)
        self.read_at = now
        if entries:
            wanted = self.count * _GROWTH if entries >= self.count else self.count
            affordable = _BYTES_AT_ONCE * entries // max(size, 1)
            self.count = max(min(wanted, MOST_AT_ONCE, affordable), 1)

    def busy(self, poll: float, *, already: bool) -> bool:
        """Whether it must be read by itself: it is fast, or its entries are large.

        Args:
            poll: Seconds between two polls of all that is not.
            already: Whether it was so far; then it remains so somewhat longer, or streams would go to and fro.
        """
        expected = self.rate * poll
        return self.count < GROUP_COUNT or expected >= (1 if already else GROUP_COUNT / 2)

    def due(self, poll: float) -> float:
        """When to read it, if it is read by itself."""
        interval = max(self.limit / max(self.rate, 1.0) / _SHARE_OF_WINDOW, _SHORTEST_READ)
        return self.read_at + min(interval, _LONGEST_HEAVY if self.count < GROUP_COUNT else poll)
