"""Quiet queues: what is still asked about a queue that was the same for some looks, and what wakes it.

Nearly all that BullMQ does is written to the queue's event stream. What is not (draining, a new priority, limits,
abandoned locks) shows in the few lengths, windows, settings and locks that are asked of quiet queues too. While all of
these are the same and the stream has no new entry, the queue is the same and keeps what it came to. Where anything
differs, the rest is asked in the second round trip of the same look. What is written by hand, or evicted, may show in
none of them: so each quiet queue is looked at in full now and then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.events import last_entry, with_last_entry
from qobserve.model.reading import Answers, Meta
from qobserve.model.reply import Fault
from qobserve.reader.connection import pack
from qobserve.reader.levels import head_probes
from qobserve.reader.questions import META_FIELDS, QUESTIONS, question_about

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    "active_tail",
    "prioritized_length",
    "prioritized_first",
    "delayed_length",
    "limiter_ttl",
    "schedulers_first",
)
_UNLESS_GONE = "paused_tail"
"""Asked but where the layout has no such list any more."""

SILENT_FIELDS = (0, *range(3, len(META_FIELDS)))
"""The fields of `meta` that change without an event; the first one also tells that the queue still exists."""

_PLACE = {name: place for place, name in enumerate(QUESTIONS)}
_NO_KEY = -2


class QuietQueue:
    """What is asked about one quiet queue: locks first, so that a job that ends meanwhile is not taken for abandoned.

    Args:
        queue: Which one.
        memory: What is remembered of it.
        last: What it came to last time.
        windows: How much of each list is read.
    """

    __slots__ = ("_known", "_last", "_late", "_locks", "_places", "_settings", "batch", "cursor", "expected", "stream")

    def __init__(self, queue: QueueId, memory: QueueMemory, last: LastTime, windows: Windows) -> None:
        gone = last.snapshot.layout == "6" and last.raw[_PLACE[_UNLESS_GONE]] == []
        names = ALWAYS if gone else (*ALWAYS, _UNLESS_GONE)
        self._last = last
        self._places = [_PLACE[name] for name in names]
        self._settings = [META_FIELDS[field] for field in SILENT_FIELDS]
        self._late = [place for place in _PLACE.values() if place not in self._places]
        self.stream = queue.key(b"events")
        self.cursor = last_entry(last.raw[_PLACE["events"]]) or b"0"
        locks = last.plan.lock_commands
        self._locks = len(locks)
        asked = [
            *locks,
            *(question_about(queue, name, windows, memory.ended_score) for name in names),
            *head_probes(queue, memory.probed_levels),
            pack(b"HMGET", queue.key(b"meta"), *self._settings),
        ]
        self.batch = b"".join(asked)
        self.expected = len(asked)
        meta = last.raw[_PLACE["meta"]]
        settings = [meta[field] for field in SILENT_FIELDS] if isinstance(meta, list) else None
        self._known = [*(last.raw[place] for place in self._places), *last.raw[len(QUESTIONS) :], settings]

    def is_same(self, replies: Sequence[Reply]) -> bool:
        """Whether the replies to `batch` tell of no change."""
        if replies[self._locks :] != self._known:
            return False
        locks = replies[: self._locks]
        return _NO_KEY not in locks and all(type(lock) is int for lock in locks)

    def woken(self, replies: Sequence[Reply], news: Reply) -> list[Reply]:
        """All first answers, as far as they are known before the late ones; `news` are the stream's new entries."""
        raw = list(self._last.raw)
        told = replies[self._locks : -1]
        for place, reply in zip(self._places, told, strict=False):
            raw[place] = reply
        raw[len(QUESTIONS) :] = told[len(self._places) :]
        raw[_PLACE["wait_head"]] = None
        settings = replies[-1]
        if not isinstance(settings, list) or settings[0] is None:  # the queue is gone, or was begun anew
            raw[_PLACE["meta"]] = settings if isinstance(settings, Fault) else None
        raw[_PLACE["events"]] = with_last_entry(raw[_PLACE["events"]], news)
        return raw

    @property
    def late(self) -> list[int]:
        """The places of the questions that are asked only once the queue is awake, in the second round trip."""
        return self._late


def late_batch(queue: QueueId, late: Iterable[int], windows: Windows) -> bytes:
    """The questions at these places."""
    questions = list(QUESTIONS.values())
    return b"".join([questions[place].packed(queue, windows) for place in late])


def news_command(queues: Sequence[QuietQueue]) -> bytes:
    """Ask for one new entry of each stream that has any."""
    streams, cursors = [queue.stream for queue in queues], [queue.cursor for queue in queues]
    return pack(b"XREAD", b"COUNT", b"1", b"STREAMS", *streams, *cursors)


def news_of(reply: Reply) -> Mapping[bytes, Reply] | None:
    """New entries by stream; None where that could not be told."""
    if reply is None:
        return {}
    if not isinstance(reply, list):
        return None
    return {each[0]: each[1] for each in reply if isinstance(each, list) and isinstance(each[0], bytes)}


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
    )
