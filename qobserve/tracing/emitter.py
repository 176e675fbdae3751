"""Hands spans to an OTLP endpoint behind everybody's back: a bounded queue, and a thread that empties it."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from qobserve.tracing.health import Health

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.tracing.delivery import Delivery, Sender
    from qobserve.tracing.description import SpanDescription

LOG = logging.getLogger("qobserve.tracing")

QUEUE_FULL = "queue_full"
REFUSED = "refused"
FAILED = "failed"
REASONS = (QUEUE_FULL, REFUSED, FAILED)

_GRACE_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How spans are sent; times are seconds.

    Attributes:
        batch: Most spans in one request.
        linger: How long a batch waits to become full.
        tries: How often a batch is sent before it is given up.
        first_rest: How long the endpoint is left alone after one failure; it doubles with each that follows.
        longest_rest: What it grows to.
        longest_wait: As much of what the endpoint itself asks for (Retry-After) is granted.
        steady: How long all must have gone well until trouble is said to be over.
    """

    batch: int = 512
    linger: float = 1.0
    tries: int = 4
    first_rest: float = 1.0
    longest_rest: float = 30.0
    longest_wait: float = 300.0
    steady: float = 10.0


DEFAULT_PACE = Pace()


@dataclass(frozen=True, slots=True, kw_only=True)
class EmitterCounts:
    """What has become of the spans that were offered; `exported`, all of `dropped` and `pending` add up to them.

    Attributes:
        exported: Taken by the endpoint.
        dropped: By reason, each of `REASONS`: the queue was full, the endpoint refused them, or it failed to take them.
        pending: Not sent yet, or under way.
        broken: Whether the endpoint is in trouble.
    """

    exported: int
    dropped: Mapping[str, int]
    pending: int
    broken: bool


class Emitter:
    """The way of spans to one endpoint.

    At most `queue_size` spans are held, those under way included; one more is dropped and counted. `endpoint` is what
    log lines call the endpoint.
    """

    def __init__(self, sender: Sender, *, endpoint: str, queue_size: int, pace: Pace = DEFAULT_PACE) -> None:
        self._sender = sender
        self._endpoint = endpoint
        self._size = queue_size
        self._pace = pace
        # When lingering ends: a queue below a batch still needs room for what comes until the thread has woken.
        self._enough = min(pace.batch, max(queue_size // 2, 1))
        self._waiting: deque[SpanDescription] = deque()
        self._under_way = 0
        self._exported = 0
        self._dropped = dict.fromkeys(REASONS, 0)
        self._failures = 0  # in a row
        self._asked_rest = 0.0
        self._health = Health(pace.steady)
        self._closing = False
        self._left = False
        # Guards all of the above; never held while anything is sent or logged, so that `offer` waits for neither.
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="qobserve-otlp", daemon=True)

    def start(self) -> None:
        """Begin to send; what was offered before is sent as well."""
        self._thread.start()

    def offer(self, span: SpanDescription) -> bool:
        """Take a span to be sent, at once and from any thread; false when it is dropped."""
        with self._changed:
            if self._closing:
                self._dropped[FAILED] += 1
                return False
            room = len(self._waiting) + self._under_way < self._size
            if room:
                self._waiting.append(span)
                if len(self._waiting) in {1, self._enough}:
                    self._changed.notify()
            else:
                self._dropped[QUEUE_FULL] += 1
            begins = not room and self._health.trouble()
        if begins:
            self._say_broken(QUEUE_FULL, "the endpoint is slower than spans come in")
        return room

    def counts(self) -> EmitterCounts:
        """What has become of the spans so far."""
        with self._changed:
            return EmitterCounts(
                exported=self._exported,
                dropped=MappingProxyType(dict(self._dropped)),
                pending=len(self._waiting) + self._under_way,
                broken=self._health.broken,
            )

    def close(self, seconds: float) -> None:
        """Send what is held for at most so many seconds, and stop; blocks, so call it off the event loop.

        What an endpoint in trouble does not take at the first attempt is dropped as `failed`, as is what is left then.
        """
        with self._changed:
            if self._left:
                return
            self._closing = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(seconds)
        # In this order: that an attempt was cut short is our doing, and no trouble of the endpoint's.
        self._leave()
        self._sender.close()
        if self._thread.is_alive():
            self._thread.join(_GRACE_SECONDS)

    def _leave(self) -> None:
        with self._changed:
            lost = len(self._waiting) + self._under_way
            self._waiting.clear()
            self._dropped[FAILED] += lost
            self._under_way = 0
            self._left = True  # a thread that still hangs at the endpoint has no say any more
        if lost:
            LOG.warning("spans were given up at the end", extra={"endpoint": self._endpoint, "count": lost})

    def _work(self) -> None:
        while not self._is_done():
            batch = self._next_batch()
            if batch:
                self._deliver(batch)
            self._say_if_over()

    def _is_done(self) -> bool:
        with self._changed:
            return self._closing and (not self._waiting or self._failures > 0)

    def _next_batch(self) -> list[SpanDescription]:
        """Up to a batch of spans; none when trouble may be over, or all is."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing, self._health.due(time.monotonic()))
            if self._waiting:
                self._changed.wait_for(lambda: len(self._waiting) >= self._enough or self._closing, self._pace.linger)
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._pace.batch))]
            self._under_way = len(batch)
        return batch

    def _deliver(self, batch: Sequence[SpanDescription]) -> None:
        for attempt in range(1, self._pace.tries + 1):
            self._rest()
            delivery = self._sender.deliver(batch)
            last = attempt == self._pace.tries or not delivery.again
            if self._note(delivery, len(batch), last=last):
                return

    def _rest(self) -> None:
        with self._changed:
            if self._failures:
                own = min(self._pace.longest_rest, self._pace.first_rest * 2 ** min(self._failures - 1, 30))
                asked = min(self._pace.longest_wait, self._asked_rest)
                self._changed.wait_for(lambda: self._closing, max(own, asked))

    def _note(self, delivery: Delivery, size: int, *, last: bool) -> bool:
        """Account for an attempt; true when the batch is done with."""
        with self._changed:
            if self._left:
                return True
            done = last or self._closing
            lost = delivery.lost(size)
            self._failures = self._failures + 1 if lost == size else 0
            self._asked_rest = delivery.wait
            begins = delivery.loss is not None and self._health.trouble()
            if delivery.loss is None:
                self._health.well(time.monotonic())
            if done:
                self._exported += size - lost
                self._dropped[delivery.loss or FAILED] += lost
                self._under_way = 0
        if begins:
            self._say_broken(delivery.loss, delivery.error)
        return done

    def _say_broken(self, reason: str | None, error: str | None) -> None:
        LOG.warning("spans cannot be exported", extra={"endpoint": self._endpoint, "reason": reason, "error": error})

    def _say_if_over(self) -> None:
        with self._changed:
            over = self._health.over(time.monotonic())
            dropped = sum(self._dropped.values())
        if over:
            LOG.info("spans are exported again", extra={"endpoint": self._endpoint, "dropped": dropped})
