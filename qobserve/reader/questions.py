"""What is asked about each queue in the first round trip: one table, of commands whose cost no backlog changes.

Every command is O(1) or O(log n) in the number of jobs; the lengths of the windows are constants of the scrape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.model.scores import level_floor
from qobserve.reader.connection import pack

if TYPE_CHECKING:
    from collections.abc import Callable

    from qobserve.model.keys import QueueId

META_FIELDS = (b"opts.maxLenEvents", b"version", b"paused", b"concurrency", b"max", b"duration")
ACTIVE_WINDOW = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """How much of each list is read: ids at the busy end of `wait`, `paused` and `prioritized`, and schedulers."""

    jobs: int
    schedulers: int


@dataclass(frozen=True, slots=True)
class Question:
    """A command about one queue, and the part of the snapshot (a collector's name) that wants to know."""

    part: str
    command: bytes
    suffix: bytes
    arguments: Callable[[Windows], tuple[bytes, ...]] = lambda _: ()

    def packed(self, queue: QueueId, windows: Windows) -> bytes:
        """The command in the wire's form."""
        return pack(*self.command.split(), queue.key(self.suffix), *self.arguments(windows))


def _fixed(*arguments: bytes) -> Callable[[Windows], tuple[bytes, ...]]:
    return lambda _: arguments


_TAIL = Question("age", b"LRANGE", b"wait", lambda windows: (b"%d" % -windows.jobs, b"-1"))
_FIRST = _fixed(b"0", b"0", b"WITHSCORES")
_LAST = _fixed(b"-1", b"-1", b"WITHSCORES")

QUESTIONS: dict[str, Question] = {
    "wait_length": Question("depth", b"LLEN", b"wait"),
    "wait_tail": _TAIL,
    "wait_head": Question("age", b"LINDEX", b"wait", _fixed(b"0")),
    "paused_tail": Question("depth", b"LRANGE", b"paused", _TAIL.arguments),
    "active_tail": Question("depth", b"LRANGE", b"active", _fixed(b"%d" % -ACTIVE_WINDOW, b"-1")),
    "prioritized_length": Question("depth", b"ZCARD", b"prioritized"),
    "prioritized_first": Question(
        "age", b"ZRANGE", b"prioritized", lambda windows: (b"0", b"%d" % (windows.jobs - 1), b"WITHSCORES")
    ),
    "delayed_length": Question("depth", b"ZCARD", b"delayed"),
    "delayed_first": Question("age", b"ZRANGE", b"delayed", _FIRST),
    "children_length": Question("depth", b"ZCARD", b"waiting-children"),
    "children_first": Question("age", b"ZRANGE", b"waiting-children", _FIRST),
    "completed_length": Question("depth", b"ZCARD", b"completed"),
    "completed_last": Question("throughput", b"ZRANGE", b"completed", _LAST),
    "failed_length": Question("depth", b"ZCARD", b"failed"),
    "failed_first": Question("age", b"ZRANGE", b"failed", _FIRST),
    "failed_last": Question("throughput", b"ZRANGE", b"failed", _LAST),
    "meta": Question("info", b"HMGET", b"meta", _fixed(*META_FIELDS)),
    "id": Question("throughput", b"GET", b"id"),
    "completed_count": Question("throughput", b"HGET", b"metrics:completed", _fixed(b"count")),
    "failed_count": Question("throughput", b"HGET", b"metrics:failed", _fixed(b"count")),
    "events": Question("throughput", b"XINFO STREAM", b"events"),
    "limiter_ttl": Question("limits", b"PTTL", b"limiter"),
    "schedulers_first": Question(
        "schedulers", b"ZRANGE", b"repeat", lambda windows: (b"0", b"%d" % (windows.schedulers - 1), b"WITHSCORES")
    ),
}
"""By the names of `model.reading.Answers`, in its order."""


def first_batch(queue: QueueId, windows: Windows, ended_score: bytes | None) -> bytes:
    """All questions about a queue, packed; schedulers up to `ended_score` have ended and are left out."""
    return b"".join(question_about(queue, name, windows, ended_score) for name in QUESTIONS)


def question_about(queue: QueueId, name: str, windows: Windows, ended_score: bytes | None) -> bytes:
    """One question about a queue, packed."""
    if name == "schedulers_first" and ended_score is not None:
        limit = (b"WITHSCORES", b"LIMIT", b"0", b"%d" % windows.schedulers)
        return pack(b"ZRANGEBYSCORE", queue.key(b"repeat"), b"(" + ended_score, b"+inf", *limit)
    return QUESTIONS[name].packed(queue, windows)


def level_probe(queue: QueueId, after: int) -> bytes:
    """Ask for the first job of the next priority level after this one (-1: of the first level)."""
    floor = b"%d" % level_floor(after + 1)
    return pack(b"ZRANGEBYSCORE", queue.key(b"prioritized"), floor, b"+inf", b"WITHSCORES", b"LIMIT", b"0", b"1")
