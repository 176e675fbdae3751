"""Ids of traces and spans, computed from what is known of a run, so that whoever sees it gives it the same ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from qobserve.model.trace_context import parse_traceparent

if TYPE_CHECKING:
    from qobserve.model.run import Card, Run
    from qobserve.model.trace_context import TraceParent

_SCHEME = "qobserve.spans.1"
"""Part of every id: a change of how they are made has to change it."""

_ITERATION = re.compile(r"repeat:.+:(?P<ms>[0-9]{10,16})", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the ids of a run's spans are made of.

    Attributes:
        key: The job's full key, `prefix:queue:id`.
        added_ms: When it was added, by its event.
        attempt: Which of its runs this is, from 1; None when unknown.
        moment_ms: When the run started, or ended if it never started; None for one that is still to come.
        card: What its hash said, if it was read.
        job: Its id; None where only the key is known.
    """

    key: str
    added_ms: int | None
    attempt: int | None = None
    moment_ms: int | None = None
    card: Card | None = None
    job: str | None = None

    @property
    def iteration_ms(self) -> int | None:
        """When an iteration of a scheduler is due; None for any other job."""
        match = _iteration(self)
        return int(match["ms"]) if match else None

    @property
    def scheduler(self) -> str | None:
        """The full key of the scheduler whose iteration the job is; None for any other job."""
        match = _iteration(self)
        return self.key.removesuffix(f":{match['ms']}") if match else None

    @property
    def first(self) -> bool:
        """Whether this is the job's first run, as far as anybody knows."""
        started = self.card.attempts_started if self.card else None
        return self.attempt == 1 or (self.attempt is None and started == 1)

    @property
    def lasting(self) -> bool:
        """Whether the ids rest on what every observer knows: the moment of adding, or an id that holds a moment."""
        return self.added_ms is not None or self.iteration_ms is not None

    @property
    def producer(self) -> TraceParent | None:
        """The producer's own span, unless it asked not to be joined."""
        card = self.card
        joined = card is not None and card.traceparent is not None and not card.omits_context
        return parse_traceparent(card.traceparent) if joined and card and card.traceparent else None


def facts_of(run: Run) -> Facts:
    """What a run's ids are made of."""
    return Facts(
        key=f"{run.queue}:{run.job}",
        added_ms=run.added_ms,
        attempt=run.attempt,
        moment_ms=run.ended_ms if run.started_ms is None else run.started_ms,
        card=run.card,
        job=run.job,
    )


def trace_id(facts: Facts, server: str) -> int:
    """The id of a run's own trace; 128 bits, never 0.

    The low half is the same for all runs of a job, so that samplers that decide by it keep or drop them together.

    Args:
        facts: The run's.
        server: What its Redis is called: jobs of two servers may be alike in all else.
    """
    return (_hash("trace", _which(facts), facts, server) << 64 | job_half(facts, server)) or 1


def job_half(facts: Facts, server: str) -> int:
    """The low half of the trace ids of all of a job's runs."""
    return _hash("job", "", facts, server)


def span_id(facts: Facts, role: str, server: str) -> int:
    """The id of one of a run's spans; 64 bits, never 0."""
    return _hash(role, _which(facts), facts, server) or 1


def _iteration(facts: Facts) -> re.Match[str] | None:
    if ":repeat:" not in facts.key:
        return None
    # A key alone does not tell where the queue's name ends, which may itself be `repeat`.
    return _ITERATION.fullmatch(facts.key[facts.key.index(":repeat:") + 1 :] if facts.job is None else facts.job)


def _anchor(facts: Facts) -> str:
    """What tells a job from an earlier one of the same id; the best that is known."""
    if facts.iteration_ms is not None:
        return "iteration"
    if facts.added_ms is not None:
        return f"added {facts.added_ms}"
    if facts.card is not None and facts.card.timestamp_ms is not None:
        return f"timestamp {facts.card.timestamp_ms}"
    return f"run {facts.moment_ms}"


def _which(facts: Facts) -> str:
    return f"moment {facts.moment_ms}" if facts.attempt is None else f"attempt {facts.attempt}"


def _hash(role: str, which: str, facts: Facts, server: str) -> int:
    # The key comes last: it alone may hold a separator, and nothing then reads as anything else.
    parts = f"{_SCHEME}\n{role}\n{which}\n{_anchor(facts)}\n{server}\n{facts.key}"
    return int.from_bytes(sha256(parts.encode("utf-8", "surrogatepass")).digest()[:8], "big")
