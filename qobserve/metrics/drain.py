"""When the backlog will be gone, if it goes on to shrink as it did in the last minutes."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector, OfPast
from qobserve.metrics.family import Family
from qobserve.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from qobserve.metrics.collector import Shown
    from qobserve.metrics.family import Row

DRAIN = Family(
    "bullmq_queue_drain_seconds",
    "gauge",
    "Jobs that wait (waiting, paused, prioritized) divided by how fast they became fewer over the last five minutes, "
    "new ones taken off; 0 for none, absent while they do not become fewer and before the second scrape.",
)

WINDOW_MS = 300_000
_APART_MS = 10_000
"""Looks that come sooner after each other need not all be remembered."""

_BACKLOG = (State.WAITING, State.PAUSED, State.PRIORITIZED)


class Backlogs:
    """The backlog of each queue over the window: when it was seen (ms), and how large it was."""

    def __init__(self) -> None:
        self._past: dict[str, deque[tuple[int, int]]] = {}

    def rows(self, shown: Mapping[str, Shown]) -> Iterator[Row]:
        """What remains to be done of each queue, in seconds, by its labels."""
        before, self._past = self._past, {}
        for labels, each in shown.items():
            backlog = _backlog(each)
            if backlog is None:
                continue
            past = self._past[labels] = before.get(labels) or deque()
            now_ms = each.members[0].now_ms
            if not backlog:
                past.clear()
                yield labels, 0
            else:
                seconds = _seconds(past, now_ms, backlog)
                if seconds is not None:
                    yield labels, seconds
            if not past or now_ms - past[-1][0] >= _APART_MS:
                past.append((now_ms, backlog))


def _seconds(past: deque[tuple[int, int]], now_ms: int, backlog: int) -> float | None:
    """The backlog divided by how fast it shrank since the oldest look in the window; None where it did not."""
    if past and past[-1][0] > now_ms:
        past.clear()  # the server's clock was set back
    while len(past) > 1 and now_ms - past[0][0] > WINDOW_MS:
        past.popleft()
    if not past or past[0][1] <= backlog or past[0][0] == now_ms:
        return None
    then_ms, then = past[0]
    return backlog * (now_ms - then_ms) / 1000 / (then - backlog)


def _backlog(shown: Shown) -> int | None:
    total = 0
    for seen in shown.members:
        for state in _BACKLOG:
            count = seen.queue.jobs.get(state)
            if count is None:
                return None
            total += count
    return total


COLLECTOR = Collector("drain", (OfPast(DRAIN, lambda: Backlogs().rows),))
