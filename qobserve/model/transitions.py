"""What each event does to the job that it speaks of; the table is `OF_JOB`.

Source of the facts: docs/bullmq-format.md#events; what counts as what: docs/events.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.drafts import RunDraft
from qobserve.model.open_jobs import ACTIVE, CHILDREN, DELAYED, ENDED, WAITING, OpenJob
from qobserve.model.questions import Why
from qobserve.model.run import Note, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from qobserve.model.event import Event
    from qobserve.model.turn import Turn

MOST_NOTES = 32
"""How much is remembered of one run: progress may be reported without end."""

_SETS_OF_THE_ENDED = frozenset({"completed", "failed"})
_COMPLETED = Outcome.COMPLETED  # found faster here than in its class


def _added(turn: Turn, event: Event, raw: bytes) -> None:
    jobs = turn.jobs
    jobs.open.pop(raw, None)
    if (other := jobs.asked.get(raw)) is not None:  # the hash that it asks for is the new job's
        turn.give_up(other)
    jobs.finished.drop(jobs.queue, raw)
    job = jobs.open[raw] = OpenJob(raw, event.ms)
    job.name = event.name
    job.added_ms = event.ms
    job.base = job.failures = 0
    turn.count_event("added", event, job)
    if turn.cards:
        turn.ask(job, Why.CARD)


def _waiting(turn: Turn, event: Event, raw: bytes) -> None:
    known, prev = turn.jobs.open.get(raw), event.prev
    job = known or _known(turn, event, raw)
    if prev == "active":
        turn.end(job, event, Outcome.RETRIED, undecided=True)
    elif job.at is ACTIVE and prev == "failed":  # how BullMQ up to 5.1 calls a retry
        _retried(turn, job, event)
    elif job.at is ACTIVE and prev == "waiting-children":  # up to 5.56 nothing said when it stepped aside
        turn.end(job, event, Outcome.WAITING_CHILDREN, never_started=True)
    elif job.at is ACTIVE and prev is None:  # how BullMQ up to 4 puts a job back for a rate limit
        turn.end(job, event, Outcome.DELAYED)
    elif prev in _SETS_OF_THE_ENDED:  # by hand; the hash keeps or drops its counters as the caller likes
        job.base = job.failures = job.earlier = None
        job.starts = 0
        if known is None and prev == "failed":
            turn.jobs.finished.resume(turn.jobs.queue, job)
    job.at = WAITING
    job.ready_ms = event.ms
    job.started_ms = None


def _retried(turn: Turn, job: OpenJob, event: Event) -> None:
    if event.ms >= turn.counted_from_ms:
        turn.count_failure("retried", job.name)
    turn.end(job, event, Outcome.RETRIED)
    if job.failures is not None:
        job.failures += 1


def _stalled(turn: Turn, event: Event, raw: bytes) -> None:
    job = turn.jobs.open.get(raw)
    turn.count_event("stalled", event, job)
    if job is None:
        return
    previous, note = turn.jobs.previous, Note(kind="stalled", ms=event.ms)
    if previous is not None and previous.raw == raw and previous.kind == "waiting" and job.held:
        last = job.held[-1]
        if last.undecided and isinstance(last.value, RunDraft):
            last.undecided = False
            last.value.outcome = Outcome.STALLED
            last.value.notes = (*last.value.notes, note)
            turn.release(job)
    elif job.at is ACTIVE:
        job.notes = (*job.notes, note)
        turn.end(job, event, Outcome.STALLED)
        job.at = WAITING
        job.ready_ms = event.ms


def _active(turn: Turn, event: Event, raw: bytes) -> None:
    job = turn.jobs.open.get(raw) or _known(turn, event, raw)
    if job.at is not WAITING:  # an event is missing, and with it when this wait began
        job.ready_ms = None
        job.notes = ()
    job.at = ACTIVE
    turn.start(job, event)


def _delayed(turn: Turn, event: Event, raw: bytes) -> None:
    fresh = raw not in turn.jobs.open
    job = _known(turn, event, raw)
    if job.at is ACTIVE or job.at is WAITING or fresh:
        job.notes = (*job.notes, Note(kind="delayed", ms=event.ms))
        turn.end(job, event, Outcome.RETRIED, undecided=True)
    elif job.at is not DELAYED:
        turn.count_event("delayed", event, job)
    job.at = DELAYED
    job.ready_ms = None


def _waiting_children(turn: Turn, event: Event, raw: bytes) -> None:
    job = _known(turn, event, raw)
    if event.prev == "active":
        turn.end(job, event, Outcome.WAITING_CHILDREN)
    job.at = CHILDREN
    job.ready_ms = job.started_ms = None


def _completed(turn: Turn, event: Event, raw: bytes) -> None:
    job = _ended(turn, event, raw)
    turn.count_event("completed", event, job)
    turn.end(job, event, _COMPLETED)


def _failed(turn: Turn, event: Event, raw: bytes) -> None:
    job = turn.jobs.failed = _ended(turn, event, raw)
    if event.ms >= turn.counted_from_ms:
        turn.count_failure("failed", job.name)
    turn.end(job, event, Outcome.FAILED, never_started=event.prev == "waiting-children")
    turn.jobs.finished.keep(turn.jobs.queue, job)


def _exhausted(turn: Turn, event: Event, raw: bytes) -> None:
    previous, job = turn.jobs.previous, turn.jobs.failed
    if job is None or job.raw != raw or previous is None or previous.kind != "failed":
        job = None
    else:
        turn.exhaust(job, event)
    turn.count_event("retries_exhausted", event, job)


def _removed(turn: Turn, event: Event, raw: bytes) -> None:
    job = turn.jobs.open.pop(raw, None)
    turn.count_event("removed", event, job)
    turn.jobs.finished.drop(turn.jobs.queue, raw)
    if job is not None and event.prev not in _SETS_OF_THE_ENDED:
        job.at = ENDED
        job.gone = True
        turn.end(job, event, Outcome.REMOVED, never_started=job.started_ms is None)


def _progress(turn: Turn, event: Event, raw: bytes) -> None:
    job = turn.jobs.open.get(raw)
    if job is not None and len(job.notes) < MOST_NOTES:
        job.notes = (*job.notes, Note(kind="progress", ms=event.ms))


def _deduplicated(turn: Turn, event: Event, raw: bytes) -> None:
    previous = turn.jobs.previous
    if previous is None or previous.kind != "debounced" or previous.raw != raw:
        turn.count_event("deduplicated", event)


def _debounced(turn: Turn, event: Event, _raw: bytes) -> None:
    turn.count_event("deduplicated", event)


def _known(turn: Turn, event: Event, raw: bytes) -> OpenJob:
    """The job, which is new to us if no event told of it before."""
    job = turn.jobs.open.get(raw)
    if job is None:
        job = turn.jobs.open[raw] = OpenJob(raw, event.ms)
    return job


def _ended(turn: Turn, event: Event, raw: bytes) -> OpenJob:
    job = turn.jobs.open.pop(raw, None) or OpenJob(raw, event.ms)
    job.at = ENDED
    return job


OF_JOB: Mapping[str, Callable[[Turn, Event, bytes], None]] = {
    "added": _added,
    "waiting": _waiting,
    "active": _active,
    "completed": _completed,
    "failed": _failed,
    "delayed": _delayed,
    "stalled": _stalled,
    "waiting-children": _waiting_children,
    "retries-exhausted": _exhausted,
    "removed": _removed,
    "progress": _progress,
    "deduplicated": _deduplicated,
    "debounced": _debounced,
}
