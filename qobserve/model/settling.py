"""What a job's hash says of runs that its events left open: which of them failed, and when they began.

Rules and bounds: docs/events.md#retried-or-put-back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.drafts import RunDraft
from qobserve.model.open_jobs import ACTIVE, ENDED, MOST_ROUNDS

if TYPE_CHECKING:
    from qobserve.model.open_jobs import Held, OpenJob
    from qobserve.model.run import Card

MOST_TRIES = 3
"""How often an answer that came too early is asked for again."""

CLOCK_SLACK_MS = 1000
"""How far the worker's clock may be ahead of the server's before its time is not believed."""


def failed_runs(job: OpenJob, card: Card | None, undecided: int) -> int | None:
    """How many of a job's undecided runs failed; None where the hash has run ahead of the events.

    Args:
        job: The job, as its events tell it.
        card: Its hash; None where it is gone.
        undecided: How many runs are open.
    """
    if not undecided:
        return 0
    if job.failures_in_the_end is not None and job.failures is not None:
        return _within(job.failures_in_the_end - job.failures, undecided)
    if card is None:
        left = undecided if job.card is None else job.card.attempts - 1 - (job.failures or 0)
        return _within(left, undecided)
    return _failed_by_hash(job, card, undecided)


def _failed_by_hash(job: OpenJob, card: Card, undecided: int) -> int | None:
    if card.attempts_started is None:  # up to BullMQ 4 one number counts both: the trace of an error has to tell
        return undecided if card.error is not None else 0
    made = card.attempts_made or 0
    if job.failures is None or job.base is None:
        not_failed = card.attempts_started - made - (job.at is ACTIVE)
        return _within(undecided - not_failed, undecided)
    grown = made - job.failures - (job.at is ENDED)
    ahead = card.attempts_started > (job.attempt or 0)
    if grown <= 0 or _is_level(job, card) or job.tries >= (MOST_ROUNDS if ahead else MOST_TRIES):
        return _within(grown, undecided)
    return None


def is_of_another(job: OpenJob, card: Card) -> bool:
    """Whether the hash is that of a later job with the same id, of which no event was seen yet."""
    return (_starts(card) or 0) < (job.attempt or 0)


def learn(job: OpenJob, card: Card | None, undecided: int, failed: int) -> None:
    """Take over what the hash says of the job as a whole."""
    if card is None:
        job.gone = True
    elif job.base is None and (started := _starts(card)) is not None:
        job.base = max(started - job.starts, 0)
    if job.failures is not None:
        job.failures += failed
    elif card is not None and card.attempts_started is not None and undecided:
        job.failures = max((card.attempts_made or 0) - (job.at is ENDED), 0)
    if card is not None:
        job.card = card
        job.name = job.name if job.name is not None else card.name


def fill(job: OpenJob, held: Held, card: Card | None, error: str | None) -> None:
    """Write into a value what the hash adds to it."""
    value = held.value
    before = job.base if job.earlier is None else job.earlier
    attempt = None if before is None or not held.ordinal else before + held.ordinal
    newest = 0 < held.ordinal == job.starts
    value.card = job.card
    if value.name is None:
        value.name = job.name
    if isinstance(value, RunDraft):
        value.attempt = value.attempt if attempt is None else attempt
        value.error = error
        if value.started_ms is None and newest:
            value.started_ms = _started(card, value.ended_ms)
    if value.ready_ms is None and value.started_ms is not None:
        value.ready_ms = _ready(card, attempt, value.started_ms)
        if newest and job.at is ACTIVE and job.started_ms == value.started_ms:
            job.ready_ms = value.ready_ms


def _is_level(job: OpenJob, card: Card) -> bool:
    """Whether the hash tells of no run beyond those that the events do."""
    if job.at is ENDED:
        return True
    return job.at is not ACTIVE and (card.attempts_started or 0) <= (job.attempt or 0)


def _ready(card: Card | None, attempt: int | None, started_ms: int) -> int | None:
    """When a job that never ran before became ready, at the earliest."""
    if card is None or card.timestamp_ms is None or attempt != 1:
        return None
    return min(card.timestamp_ms + card.delay_ms, started_ms)


def _started(card: Card | None, ended_ms: int) -> int | None:
    if card is None or card.processed_ms is None or card.processed_ms > ended_ms + CLOCK_SLACK_MS:
        return None
    return min(card.processed_ms, ended_ms)


def _starts(card: Card) -> int | None:
    return card.attempts_started if card.attempts_started is not None else card.attempts_made


def _within(number: int, most: int) -> int:
    return min(max(number, 0), most)
