"""Who is told what a follower finds: listeners that count, draw or trace, none of which can hurt another."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.lifecycle import Told

LOG = logging.getLogger("qobserve.reader")


class Sink(Protocol):
    """Listens to a follower; it is called in the follower's task, so it must return at once."""

    def take(self, value: Told) -> None:
        """Take what the fold yields."""

    def known(self, queue: QueueId) -> None:
        """Learn of a queue; its counters exist from now on."""

    def missed(self, queue: QueueId, events: int) -> None:
        """Learn that so many events were trimmed before they were read; at least so many where Redis is before 7."""

    def made_up(self, queue: QueueId, kind: str, count: int) -> None:
        """Add to a total what was missed of it, as what survives trimming tells."""

    def partial(self, queue: QueueId, kind: str) -> None:
        """Learn that a total is a lower bound from now on: something was missed that nothing else tells."""

    def lag(self, queue: QueueId, seconds: float) -> None:
        """Learn how long ago all events of a queue had been read; 0 while reading keeps up."""

    def forget(self, queue: QueueId) -> None:
        """Drop a queue that has vanished."""


class Sinks:
    """All listeners as one; the first defect of each is logged, and no defect goes further."""

    def __init__(self, sinks: Sequence[Sink], alias: str) -> None:
        self._sinks = tuple(sinks)
        self._alias = alias
        self._faulty: set[int] = set()

    def take_all(self, values: Iterable[Told]) -> None:
        """As `Sink.take`, of several."""
        told = list(values)
        for sink in self._sinks if told else ():
            self._each(sink, lambda sink: _take_all(sink, told))

    def known(self, queue: QueueId) -> None:
        """As `Sink.known`."""
        self._tell(lambda sink: sink.known(queue))

    def missed(self, queue: QueueId, events: int) -> None:
        """As `Sink.missed`."""
        self._tell(lambda sink: sink.missed(queue, events))

    def made_up(self, queue: QueueId, kind: str, count: int) -> None:
        """As `Sink.made_up`."""
        self._tell(lambda sink: sink.made_up(queue, kind, count))

    def partial(self, queue: QueueId, kind: str) -> None:
        """As `Sink.partial`."""
        self._tell(lambda sink: sink.partial(queue, kind))

    def lag(self, queue: QueueId, seconds: float) -> None:
        """As `Sink.lag`."""
        self._tell(lambda sink: sink.lag(queue, seconds))

    def forget(self, queue: QueueId) -> None:
        """As `Sink.forget`."""
        self._tell(lambda sink: sink.forget(queue))

    def _tell(self, call: Callable[[Sink], None]) -> None:
        for sink in self._sinks:
            self._each(sink, call)

    def _each(self, sink: Sink, call: Callable[[Sink], None]) -> None:
        try:
            call(sink)
        except Exception as exc:  # noqa: BLE001 - isolated on purpose: one listener's defect must not cost the others their events
            if id(sink) not in self._faulty:
                self._faulty.add(id(sink))
                LOG.warning(
                    "a listener to events failed; this is a defect of qobserve, please report it",
                    extra={"target": self._alias, "listener": type(sink).__name__, "error": repr(exc)},
                )


def _take_all(sink: Sink, values: Sequence[Told]) -> None:
    take = sink.take
    for value in values:
        take(value)
