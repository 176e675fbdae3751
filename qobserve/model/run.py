"""What became of a job: the values that the fold of a queue's events yields.

All moments are milliseconds since the epoch on the store's clock, as the events tell them, unless said otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qobserve.model.keys import QueueId


class Outcome(StrEnum):
    """How a run ended.

    `retried` failed and will run again by itself; `delayed` was put back by its own processor or by a rate limit;
    `removed` was taken out before it ended; `waiting-children` stepped aside for its children.
    """

    COMPLETED = "completed"
    FAILED = "failed"
    RETRIED = "retried"
    STALLED = "stalled"
    DELAYED = "delayed"
    WAITING_CHILDREN = "waiting-children"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What a job's hash says beside its events: never its data, never what it returned.

    Attributes:
        name: The job's name.
        timestamp_ms: When it was added, on the producer's clock.
        delay_ms: `opts.delay`, the delay it was added with.
        attempts: `opts.attempts`, how often it may run; 0 and 1 both mean once.
        traceparent: W3C trace context of the producer's span, from `opts.tm`.
        tracestate: Likewise.
        omits_context: Whether the producer asked not to be joined (`opts.omc`).
        parent: The full key of the flow's parent, `prefix:queue:id`.
        scheduler: The scheduler whose iteration it is (`rjk`).
        worker: The name of the worker that took it last (`pb`).
        attempts_started: `ats`.
        attempts_made: `atm` (`attemptsMade` up to 4.x).
        processed_ms: Start of its last run, on the worker's clock.
        error: The class name of its last failure, from the newest stack trace; never the message.
    """

    name: str | None = None
    timestamp_ms: int | None = None
    delay_ms: int = 0
    attempts: int = 0
    traceparent: str | None = None
    tracestate: str | None = None
    omits_context: bool = False
    parent: str | None = None
    scheduler: str | None = None
    worker: str | None = None
    attempts_started: int | None = None
    attempts_made: int | None = None
    processed_ms: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that happened to a job during a run: `kind` is the event's name (`stalled`, `progress`, `delayed`)."""

    kind: str
    ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A worker took a job.

    Attributes:
        live: Whether this happened after we began to count; a retained past is told, but not counted.
        ready_ms: When the job could first have been taken for this run; None when unknown.
    """

    queue: QueueId
    job: str
    live: bool
    started_ms: int
    ready_ms: int | None = None
    name: str | None = None
    card: Card | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a job, over.

    Attributes:
        live: As in `Started`, of its end.
        attempt: 1 for the first run since the job was added; None when unknown.
        added_ms: When the job was added.
        ready_ms: When it could first have been taken for this run.
        started_ms: When a worker took it; None for one that was removed or failed before that.
        ended_ms: When the run ended.
        exhausted: Whether no attempts were left (`retries-exhausted`).
        error: Class of the failure, when known.
    """

    queue: QueueId
    job: str
    live: bool
    outcome: Outcome
    ended_ms: int
    attempt: int | None = None
    added_ms: int | None = None
    ready_ms: int | None = None
    started_ms: int | None = None
    exhausted: bool = False
    name: str | None = None
    error: str | None = None
    card: Card | None = None
    notes: tuple[Note, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Events of one kind (or `attempts_failed`) that count towards a total, by job name where it is known."""

    queue: QueueId
    kind: str
    count: int = 1
    name: str | None = None
