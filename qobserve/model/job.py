"""A job's hash: when a worker could first have taken the job, as far as its fields can tell.

Source of the facts: docs/bullmq-format.md#job-hash; the definition and its bounds: docs/age.md.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from qobserve.model.reply import whole
from qobserve.model.scores import milliseconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.model.reply import Reply

TIME_FIELDS = (
    b"timestamp",
    b"processedOn",
    b"opts",
    b"atm",
    b"attemptsMade",
    b"stc",
    b"stalledCounter",
    b"ats",
    b"priority",
)
"""The fields that `job_times` wants, in its order."""

PROMOTION_SLACK_MS = 1000
"""A job that left `delayed` this much too early was promoted by a worker whose clock is ahead, not by hand."""

_LARGEST_OPTS = 65_536
_LARGEST_EXPONENT = 60
_REMEMBERED_BYTES = 1024
_MOST_MS = 2**53
"""Beyond this JavaScript's numbers, and so BullMQ's times, are not whole any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyAt:
    """The moment from which a worker could have taken a job.

    Attributes:
        ms: Milliseconds since the epoch; on the server's clock for an event, on a producer's or worker's for a hash.
        source: Whether an event of the stream was seen, or the job's own fields were all there was.
        exact: False where the fields can only bound the moment: the true one may be later, by what docs/age.md names.
    """

    ms: int
    source: Literal["event", "hash"]
    exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How long a job is kept away after a failed attempt; `kind` is BullMQ's word, `delay_ms` its base."""

    kind: str
    delay_ms: float
    jitter: float

    def after(self, attempts: int) -> int:
        """The shortest wait in ms after the `attempts`-th failure; 0 for a strategy of the application's own."""
        if self.kind == "fixed":
            longest = self.delay_ms
        elif self.kind == "exponential":
            longest = math.floor(2 ** min(attempts - 1, _LARGEST_EXPONENT) * self.delay_ms + 0.5)
        else:
            return 0
        return int(longest * (1 - self.jitter))


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTimes:
    """What a job's hash says about its life; moments in ms, None where a field is absent or no number.

    Two that are equal speak of the same wait in the same place: whatever ends one changes a field.
    """

    timestamp: int | None
    processed_on: int | None
    attempts: int
    delay_ms: int
    backoff: Backoff | None
    stalled: bool
    starts: int
    priority: int

    def same_wait(self, other: JobTimes | None) -> bool:
        """Whether the other speaks of the same wait; a new priority moves a job, but it waits on."""
        if other is None or self == other:
            return other is not None
        return self.priority != other.priority and self == replace(other, priority=self.priority)

    @property
    def fresh(self) -> bool:
        """Whether the job shows no sign of ever having run."""
        return self.processed_on is None and not self.attempts and not self.starts and not self.stalled


def job_times(fields: Sequence[bytes | None]) -> JobTimes:
    """Decode the reply to HMGET of `TIME_FIELDS`; what is junk reads as absent."""
    small = sum(len(field) for field in fields if field is not None) <= _REMEMBERED_BYTES
    return _remembered(tuple(fields)) if small else _decoded(fields)


def _decoded(fields: Sequence[bytes | None]) -> JobTimes:
    timestamp, processed_on, opts, atm, attempts_made, stc, stalled_counter, ats, priority = fields
    delay_ms, backoff = _options(opts) if opts is not None and len(opts) <= _LARGEST_OPTS else (0, None)
    return JobTimes(
        timestamp=milliseconds_field(timestamp),
        processed_on=milliseconds_field(processed_on),
        attempts=whole(atm) or whole(attempts_made) or 0,
        delay_ms=delay_ms,
        backoff=backoff,
        stalled=bool(whole(stc) or whole(stalled_counter)),
        starts=whole(ats) or 0,
        priority=whole(priority) or 0,
    )


_remembered = lru_cache(maxsize=8192)(_decoded)
"""The jobs that matter stay the same from scrape to scrape."""


def ready_at(job: JobTimes, now_ms: int) -> ReadyAt | None:
    """The fallback of the definition: the later of enqueue + delay, and the last start + the back-off after it.

    Returns None where nothing is known: no `timestamp`, or a delayed job that is ready before its time
    (promoted by hand), whose moment no field holds.
    """
    if job.timestamp is None:
        return None
    ms = job.timestamp + job.delay_ms
    waited = job.delay_ms
    if job.processed_on is not None:
        # Whether the last run failed or stalled no field says; after a stall there is no back-off.
        failed = job.attempts > 0 and not job.stalled
        backoff = job.backoff.after(job.attempts) if job.backoff and failed else 0
        if job.processed_on + backoff >= ms:
            ms, waited = job.processed_on + backoff, backoff
    if waited and ms > now_ms + PROMOTION_SLACK_MS:
        return None
    return ReadyAt(ms=ms, source="hash", exact=job.fresh)


def milliseconds_field(raw: Reply) -> int | None:
    """A time field of the hash, in ms since the epoch; None where it is absent, no number, or no time in use."""
    return milliseconds(raw) if isinstance(raw, bytes) else None


def _options(raw: bytes) -> tuple[int, Backoff | None]:
    try:
        opts = json.loads(raw)
    except (ValueError, RecursionError):
        return 0, None
    if not isinstance(opts, dict):
        return 0, None
    return int(_number(opts.get("delay"))), _backoff(opts.get("backoff"))


def _backoff(opts: object) -> Backoff | None:
    if isinstance(opts, dict):
        jitter = min(_number(opts.get("jitter")), 1.0)
        kind = opts.get("type")
        return Backoff(kind=kind if isinstance(kind, str) else "", delay_ms=_number(opts.get("delay")), jitter=jitter)
    delay = _number(opts)
    return Backoff(kind="fixed", delay_ms=delay, jitter=0.0) if delay else None


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - NaN, of an int too large for math.isnan too
        return 0.0
    return float(min(max(value, 0), _MOST_MS))
