"""Quiet queues: what is still asked about a queue that was the same for some looks, and what wakes it.

Nearly all that BullMQ does is written to the queue's event stream. What is not (draining, a new priority, limits,
abandoned locks, trimmed events) shows in the lengths, windows, settings and locks that are asked of quiet queues too.
While all of these are the same and the stream has no new entry, the queue is the same and keeps what it came to. Where
anything differs, the rest is asked in the second round trip of the same look. A job's changed data, and what is written
by hand or evicted, may show in none of them: so each quiet queue is looked at in full now and then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.events import last_entry, with_last_entry
from qobserve.model.reading import Answers, Meta
from qobserve.reader.connection import pack
from qobserve.reader.levels import head_probes
from qobserve.reader.questions import QUESTIONS, question_about

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply
    from qobserve.reader.last_time import LastTime
    from qobserve.reader.memory import QueueMemory
    from qobserve.reader.questions import Windows

QUIET_LOOKS = 3
"""A queue is quiet once so many looks in a row found it the same."""

FULL_EVERY = 10
"""Each quiet queue is looked at in full once in so many looks; not all of them in the same."""

ALWAYS = (
    "wait_length",
    "wait_tail",
    "wait_head",
    "paused_tail",
    "active_tail",
    "prioritized_length",
    "prioritized_first",
    "delayed_length",
    "meta",
    "limiter_ttl",
    "schedulers_first",
)
"""What changes without an event, and all that the questions of the second round trip are made from."""

_PLACE = {name: place for place, name in enumerate(QUESTIONS)}
_PLACES = [_PLACE[name] for name in ALWAYS]
LATE = tuple(place for place in _PLACE.values() if place not in _PLACES)
"""The places of the questions that are asked only once a queue is awake, in the second round trip."""

_NO_KEY = -2
_PAIR = 2


class QuietQueue:
    """What is asked about one quiet queue: locks first, so that a job that ends meanwhile is not taken for abandoned.

    Args:
        queue: Which one.
        memory: What is remembered of it.
        last: What it came to last time.
        windows: How much of each list is read.
    """

    __slots__ = ("_known", "_last", "_locks", "attempts", "batch", "counter", "cursor", "expected", "stream")

    def __init__(self, queue: QueueId, memory: QueueMemory, last: LastTime, windows: Windows) -> None:
        self._last = last
        self.stream = queue.key(b"events")
        self.cursor = last_entry(last.raw[_PLACE["events"]]) or b"0"
        self.counter = queue.key(b"id")
        self.attempts = last.raw[_PLACE["id"]]
        locks = last.plan.lock_commands
        self._locks = len(locks)
        asked = [
            *locks,
            *(question_about(queue, name, windows, memory.ended_score) for name in ALWAYS),
            *head_probes(queue, memory.probed_levels),
            pack(b"XLEN", self.stream),
        ]
        self.batch = b"".join(asked)
        self.expected = len(asked)
        retained = last.snapshot.events_retained
        self._known = [*(last.raw[place] for place in _PLACES), *last.raw[len(QUESTIONS) :], retained]

    def is_same(self, replies: Sequence[Reply]) -> bool:
        """Whether the replies to `batch` tell of no change."""
        if replies[self._locks :] != self._known:
            return False
        locks = replies[: self._locks]
        return _NO_KEY not in locks and all(type(lock) is int for lock in locks)

    def woken(self, replies: Sequence[Reply], entries: Reply) -> list[Reply]:
        """All first answers, as far as they are known before the late ones; `entries` are new ones of the stream."""
        raw = list(self._last.raw)
        told = replies[self._locks : -1]
        for place, reply in zip(_PLACES, told, strict=False):
            raw[place] = reply
        raw[len(QUESTIONS) :] = told[len(_PLACES) :]
        raw[_PLACE["events"]] = with_last_entry(raw[_PLACE["events"]], entries)
        return raw


def late_batch(queue: QueueId, late: Iterable[int], windows: Windows) -> bytes:
    """The questions at these places."""
    questions = list(QUESTIONS.values())
    return b"".join([questions[place].packed(queue, windows) for place in late])


NEWS = 2
"""How many replies `news_commands` brings."""


def news_commands(queues: Sequence[QuietQueue]) -> bytes:
    """Ask at once for one new entry of each stream that has any, and for all counters of added jobs."""
    streams, cursors = [queue.stream for queue in queues], [queue.cursor for queue in queues]
    return pack(b"XREAD", b"COUNT", b"1", b"STREAMS", *streams, *cursors) + pack(
        b"MGET", *(queue.counter for queue in queues)
    )


class News:
    """What the replies to `news_commands` tell of each queue."""

    def __init__(self, queues: Sequence[QuietQueue], replies: Sequence[Reply]) -> None:
        entries, counters = replies
        self._entries = _by_stream(entries)
        self._counters: dict[bytes, Reply] = {}
        if (entries is None or self._entries) and isinstance(counters, list) and len(counters) == len(queues):
            self._counters = dict(zip([queue.counter for queue in queues], counters, strict=True))

    def entries(self, queue: QuietQueue) -> Reply:
        """New entries of a queue's stream; None for none that are known."""
        return self._entries.get(queue.stream)

    def none_of(self, queue: QuietQueue) -> bool:
        """Whether it is certain that there is nothing new."""
        return queue.stream not in self._entries and self._counters.get(queue.counter, self) == queue.attempts


def _by_stream(reply: Reply) -> dict[bytes, Reply]:
    if not isinstance(reply, list):
        return {}
    pairs = (each for each in reply if isinstance(each, list) and len(each) == _PAIR)
    return {stream: entries for stream, entries in pairs if isinstance(stream, bytes)}


class Quiet:
    """The quiet queues of one server.

    Args:
        windows: How much of each list is read.
    """

    def __init__(self, windows: Windows) -> None:
        self._windows = windows
        self._looks: dict[QueueId, int] = {}
        self._queues: dict[QueueId, QuietQueue] = {}

    def due(self, queue: QueueId, place: int, turn: int) -> QuietQueue | None:
        """What to ask about a quiet queue; None for one that is not quiet, or whose turn it is to be looked at in full.

        Args:
            queue: Which one.
            place: Its place among all queues.
            turn: Counts the looks.
        """
        return None if (place + turn) % FULL_EVERY == 0 else self._queues.get(queue)

    def found_same(self, queue: QueueId, memory: QueueMemory, last: LastTime) -> None:
        """A look came to the same as the one before."""
        if queue in self._queues:
            return
        looks = self._looks[queue] = self._looks.get(queue, 0) + 1
        if looks == QUIET_LOOKS and _may_be_quiet(last):
            self._queues[queue] = QuietQueue(queue, memory, last, self._windows)

    def found_changed(self, queue: QueueId) -> None:
        """A look came to something else."""
        self._looks.pop(queue, None)
        self._queues.pop(queue, None)


def _may_be_quiet(last: LastTime) -> bool:
    """Whether events would tell of changes: not without a stream that holds entries, nor of what counts down."""
    answers = Answers._make(last.raw[: len(QUESTIONS)])
    return (
        last_entry(answers.events) is not None
        and bool(last.snapshot.events_retained)
        and isinstance(answers.meta, list)
        and len(answers.meta) == len(Meta._fields)
        and answers.limiter_ttl == _NO_KEY
        and not last.snapshot.problems
        and last.snapshot.unlocked == 0
        and last.plan.is_lasting
        and not last.plan.asks_for_lengths
    )
