"""What is remembered of jobs that have not ended, and of those that a question is open about."""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum, auto
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.model.drafts import RunDraft, StartedDraft
    from qobserve.model.event import Event
    from qobserve.model.keys import QueueId
    from qobserve.model.questions import Why
    from qobserve.model.run import Card, Note

MOST_ROUNDS = 100
"""How long events are waited for that a hash has told of: they may have been trimmed."""

MOST_FAILED = 10_000
"""How many jobs that failed for good are remembered, over all queues."""

_PART_FORGOTTEN = 64
"""When there are too many jobs, one in so many is forgotten at a time: to look for the oldest costs more than one."""


class At(Enum):
    """Where a job is, according to its events."""

    NEW = auto()
    WAITING = auto()
    DELAYED = auto()
    ACTIVE = auto()
    CHILDREN = auto()
    ENDED = auto()


NEW, WAITING, DELAYED, ACTIVE, CHILDREN, ENDED = At
"""The same by names of their own: to look up a member in its class costs more than most transitions do."""


class Held:
    """A value that waits for an answer; `ordinal` is which of the starts seen it belongs to, 0 for none."""

    __slots__ = ("by_delay", "ordinal", "undecided", "value")

    def __init__(
        self, value: StartedDraft | RunDraft, ordinal: int, *, undecided: bool = False, by_delay: bool = False
    ) -> None:
        self.value = value
        self.ordinal = ordinal
        self.undecided = undecided
        self.by_delay = by_delay


class OpenJob:
    """One job.

    Attributes:
        raw: Its id as Redis holds it.
        since_ms: When it was first seen.
        base: How often it had been started before the first start that was seen; None when unknown.
        starts: How many of its starts were seen.
        earlier: How often it had been started before it was retried by hand, whatever its hash says, whose counters may
            have been reset; None when unknown, or if it was not.
        failures: How many of its runs have failed in all; None when unknown.
        failures_in_the_end: The same as told by the end of the job, in which the last failure is left out.
        gone: Whether its hash was looked for in vain.
        why: The question about it, if one is open.
        wants_error: Whether that asks for the last failure too.
        tries: For how many rounds that has waited since it was answered too early to settle anything.
        ahead: How often the job had been started by then, if that was more often than its events tell.
    """

    __slots__ = (
        *(
            "added_ms",
            "ahead",
            "at",
            "base",
            "card",
            "earlier",
            "failures",
            "failures_in_the_end",
            "gone",
            "held",
            "name",
            "notes",
            "raw",
        ),
        *("ready_ms", "since_ms", "started_ms", "starts", "tries", "wants_error", "why"),
    )

    def __init__(self, raw: bytes, since_ms: int) -> None:
        self.raw = raw
        self.since_ms = since_ms
        self.at = NEW
        self.name: str | None = None
        self.added_ms: int | None = None
        self.ready_ms: int | None = None
        self.started_ms: int | None = None
        self.base: int | None = None
        self.starts = 0
        self.earlier: int | None = None
        self.failures: int | None = None
        self.failures_in_the_end: int | None = None
        self.card: Card | None = None
        self.gone = False
        self.notes: tuple[Note, ...] = ()
        self.held: list[Held] | None = None
        self.why: Why | None = None
        self.wants_error = False
        self.tries = 0
        self.ahead = 0

    @property
    def attempt(self) -> int | None:
        """Which run of the job the last one seen is, from 1, as its hash counts them."""
        return None if self.base is None else self.base + self.starts

    @property
    def number(self) -> int | None:
        """The same, as it is told: a retry by hand does not begin anew."""
        return self.attempt if self.earlier is None else self.earlier + self.starts

    @property
    def told_until(self) -> int:
        """When the last run ended whose telling waits for an answer; when the job was first seen, if none does."""
        value = self.held[-1].value if self.held else None
        return self.since_ms if value is None else getattr(value, "ended_ms", self.since_ms)

    def catches_up(self) -> bool:
        """Whether events are on their way without which another answer would settle no more than the last one."""
        if self.ahead and (self.ahead <= (self.attempt or 0) or self.at is ENDED):
            self.ahead = self.tries = 0
        if not self.ahead or self.tries >= MOST_ROUNDS:
            return False
        self.tries += 1
        return True


class FailedJobs:
    """What a retry by hand takes up again: when a job was added, and how often it had been started when it failed.

    At most `most` jobs of all queues are remembered; the one that failed longest ago is forgotten first.
    """

    __slots__ = ("_jobs", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: OrderedDict[tuple[QueueId, bytes], tuple[int, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._jobs)

    def keep(self, queue: QueueId, job: OpenJob) -> None:
        """Remember a job that has failed, if it was seen being added."""
        number = job.number
        if job.added_ms is None or number is None:
            return
        self._jobs[queue, job.raw] = (job.added_ms, number)
        self._jobs.move_to_end((queue, job.raw))
        if len(self._jobs) > self._most:
            self._jobs.popitem(last=False)

    def resume(self, queue: QueueId, job: OpenJob) -> None:
        """Go on with a job that is retried by hand where it had failed, if that is remembered."""
        known = self._jobs.pop((queue, job.raw), None)
        if known is not None:
            job.added_ms, job.earlier = known

    def drop(self, queue: QueueId, raw: bytes) -> None:
        """Forget a job that is no more."""
        if self._jobs:
            self._jobs.pop((queue, raw), None)

    def forget(self, queue: QueueId) -> None:
        """Forget a queue's."""
        for key in [key for key in self._jobs if key[0] == queue]:
            del self._jobs[key]


class QueueJobs:
    """The jobs of one queue, and how far its events were taken.

    Attributes:
        open: Jobs that have not ended, by their ids, oldest first.
        asked: Jobs that a question is open about, ended or not.
        last: Id of the last event taken.
        previous: The last event taken: some events only make sense with the one that follows.
        failed: The job that failed last.
        finished: Jobs that failed for good, of all queues.
        unread: Whether more may follow `previous` that the reader has not had a chance to fetch.
        starts_counted: Whether the hashes tell starts from failures (BullMQ 5 on); None before one was read.
    """

    __slots__ = ("asked", "failed", "finished", "last", "open", "previous", "queue", "starts_counted", "unread")

    def __init__(self, queue: QueueId, finished: FailedJobs) -> None:
        self.queue = queue
        self.finished = finished
        self.open: dict[bytes, OpenJob] = {}
        self.asked: dict[bytes, OpenJob] = {}
        self.last = (-1, -1)
        self.previous: Event | None = None
        self.failed: OpenJob | None = None
        self.unread = False
        self.starts_counted: bool | None = None

    def unfinished(self) -> bytes | None:
        """The job that the next event may tell more about, as both were written at once."""
        previous = self.previous
        if previous is None or not self.unread:
            return None
        followed = previous.kind == "failed" or (previous.kind == "waiting" and previous.prev == "active")
        return previous.raw if followed else None


def forget_oldest(queues: dict[QueueId, QueueJobs], surplus: int, most: int) -> int:
    """Forget at least `surplus` open jobs of all queues, those first that were seen first; how many it were."""
    oldest = merge(*(_ages(jobs) for jobs in queues.values()), key=lambda age: age[0])
    chosen = list(islice(oldest, surplus + most // _PART_FORGOTTEN))
    for _, jobs, raw in chosen:
        del jobs.open[raw]
    return len(chosen)


def _ages(jobs: QueueJobs) -> Iterator[tuple[int, QueueJobs, bytes]]:
    return ((job.since_ms, jobs, raw) for raw, job in jobs.open.items())
