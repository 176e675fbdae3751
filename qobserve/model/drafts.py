"""`Started` and `Run` in the making: filled plainly, changed while they wait for an answer, and then frozen.

A draft has the slots of the value that it becomes. To set each field of a frozen dataclass through its constructor
takes three times as long, and every job passes here twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from qobserve.model.run import Run, Started

if TYPE_CHECKING:
    from qobserve.model.event import Event
    from qobserve.model.keys import QueueId
    from qobserve.model.run import Card, Note, Outcome


class Known(Protocol):
    """What is known of the job: the part of it that goes into a value."""

    base: int | None
    earlier: int | None
    starts: int
    name: str | None
    added_ms: int | None
    ready_ms: int | None
    started_ms: int | None
    card: Card | None
    notes: tuple[Note, ...]


class StartedDraft:
    """A worker took the job of which this much is known."""

    __slots__ = Started.__slots__

    queue: QueueId
    job: str
    live: bool
    started_ms: int
    ready_ms: int | None
    name: str | None
    card: Card | None

    def __init__(self, queue: QueueId, event: Event, known: Known, *, live: bool) -> None:
        self.queue = queue
        self.job = event.job or ""
        self.live = live
        self.started_ms = event.ms
        self.ready_ms = known.ready_ms
        self.name = known.name
        self.card = known.card

    def freeze(self) -> Started:
        """The value; the draft is no more."""
        self.__class__ = Started  # type: ignore[assignment]  # the same slots, in the same order
        return self  # type: ignore[return-value]  # by now it is one


class RunDraft:
    """A run of the job of which this much is known is over."""

    __slots__ = Run.__slots__

    queue: QueueId
    job: str
    live: bool
    outcome: Outcome
    ended_ms: int
    attempt: int | None
    added_ms: int | None
    ready_ms: int | None
    started_ms: int | None
    exhausted: bool
    name: str | None
    error: str | None
    card: Card | None
    notes: tuple[Note, ...]

    def __init__(self, queue: QueueId, event: Event, known: Known, outcome: Outcome, *, live: bool) -> None:
        self.queue = queue
        self.job = event.job or ""
        self.live = live
        self.outcome = outcome
        self.ended_ms = event.ms
        if known.earlier is None:
            base = known.base
            self.attempt = None if base is None else base + known.starts or None
        else:  # before its first start it is no run that has a number, and must not have that of the run that failed
            self.attempt = known.earlier + known.starts if known.starts else None
        self.added_ms = known.added_ms
        self.ready_ms = known.ready_ms
        self.started_ms = known.started_ms
        self.exhausted = False
        self.name = known.name
        self.error = None
        self.card = known.card
        self.notes = known.notes

    def freeze(self) -> Run:
        """The value; the draft is no more."""
        self.__class__ = Run  # type: ignore[assignment]  # the same slots, in the same order
        return self  # type: ignore[return-value]  # by now it is one
