"""One turn of the fold: what a batch of events, or an answer, has told so far, and what it has left open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from qobserve.model.drafts import RunDraft, StartedDraft
from qobserve.model.open_jobs import Held
from qobserve.model.questions import Why, weightier
from qobserve.model.run import Counted, Outcome, Run
from qobserve.model.settling import failed_runs, fill, is_of_another, learn

if TYPE_CHECKING:
    from qobserve.model.event import Event
    from qobserve.model.open_jobs import OpenJob, QueueJobs
    from qobserve.model.run import Card, Started

Told: TypeAlias = "Started | Run | Counted"
"""What the fold yields."""

_FAILED = frozenset({Outcome.FAILED, Outcome.RETRIED})


class Turn:
    """A turn on one queue; `told` is what it yields, but for the counts.

    Args:
        jobs: The queue's.
        counted_from_ms: Events before this are told as not live, and not counted.
        cards: Whether values are to carry cards.
    """

    __slots__ = ("cards", "counted_from_ms", "counts", "jobs", "told")

    def __init__(self, jobs: QueueJobs, *, counted_from_ms: int, cards: bool) -> None:
        self.jobs = jobs
        self.counted_from_ms = counted_from_ms
        self.cards = cards
        self.told: list[Told] = []
        self.counts: dict[tuple[str, str | None], int] = {}

    def result(self) -> list[Told]:
        """All that was told, counts last."""
        queue = self.jobs.queue
        for (kind, name), count in self.counts.items():
            self.told.append(Counted(queue=queue, kind=kind, count=count, name=name))
        return self.told

    def count(self, kind: str, name: str | None, count: int = 1) -> None:
        """Count towards a total, whenever it was."""
        key = (kind, name)
        self.counts[key] = self.counts.get(key, 0) + count

    def count_event(self, kind: str, event: Event, job: OpenJob | None = None, count: int = 1) -> None:
        """Count an event, unless it was written before counting began."""
        if event.ms >= self.counted_from_ms:
            key = (kind, None if job is None else job.name)
            self.counts[key] = self.counts.get(key, 0) + count

    def count_failure(self, kind: str, name: str | None) -> None:
        """Count an attempt that failed, for good or not."""
        self.count(kind, name)
        self.count("attempts_failed", name)

    def start(self, job: OpenJob, event: Event) -> None:
        """A worker took the job."""
        live = event.ms >= self.counted_from_ms
        job.starts += 1
        job.started_ms = event.ms
        value = StartedDraft(self.jobs.queue, event, job, live=live)
        unknown = job.ready_ms is None and live and job.attempt in {None, 1}
        self._tell(job, value, job.starts, Why.START if unknown else None)

    def end(
        self, job: OpenJob, event: Event, outcome: Outcome, *, undecided: bool = False, never_started: bool = False
    ) -> None:
        """A run ended; `undecided`: it failed or not; `never_started`: there is no start to look for."""
        live = event.ms >= self.counted_from_ms
        unknown = job.started_ms is None and not never_started
        job.starts += unknown
        if never_started:
            job.started_ms = None
        value = RunDraft(self.jobs.queue, event, job, outcome, live=live)
        job.started_ms = job.ready_ms = None
        job.notes = ()
        ordinal = 0 if never_started else job.starts
        if undecided:
            self._hold(job, Held(value, ordinal, undecided=True, by_delay=event.kind == "delayed"), Why.OUTCOME)
        elif self.cards and outcome in _FAILED and not job.gone:
            self._hold(job, Held(value, ordinal), Why.CARD, error=True)
        else:
            self._tell(job, value, ordinal, Why.START if unknown and live else None)

    def ask(self, job: OpenJob, why: Why, *, error: bool = False) -> None:
        """Want the job's hash to be read."""
        asked = self.jobs.asked
        other = asked.get(job.raw)
        if other is not None and other is not job:
            self.give_up(other)
        asked[job.raw] = job
        job.why = weightier(job.why, why)
        job.wants_error = job.wants_error or error

    def give_up(self, job: OpenJob) -> None:
        """Tell of a job what can be told without its hash."""
        self.settle(job, None)

    def settle(self, job: OpenJob, card: Card | None) -> None:
        """Tell what an answer settles; where it came too early the question stays."""
        if card is not None and is_of_another(job, card):
            card = None
        held = job.held or []
        undecided = sum(one.undecided for one in held)
        failed = failed_runs(job, card, undecided)
        if failed is None:
            job.tries += 1
            started = 0 if card is None else card.attempts_started or 0
            job.ahead = max(started, job.ahead)
            return
        learn(job, card, undecided, failed)
        for one in held:
            if one.undecided:
                self._decide(job, one, failed=failed > 0)
                failed -= 1
        blamed = _last_failed(held)
        for one in held:
            error = card.error if card is not None and one is blamed else None
            fill(job, one, card, error)
            self.told.append(one.value.freeze())
        job.held = job.why = None
        job.wants_error = False
        job.tries = job.ahead = 0
        if self.jobs.asked.get(job.raw) is job:
            del self.jobs.asked[job.raw]

    def release(self, job: OpenJob) -> None:
        """Tell what was held for an outcome that has become known meanwhile, if nothing else is open."""
        if job.why is Why.OUTCOME and not self.cards and not any(one.undecided for one in job.held or ()):
            self.give_up(job)
            job.gone = False

    def exhaust(self, job: OpenJob, event: Event) -> None:
        """The job, whose failure was the last event, had no attempts left."""
        if job.held is not None:
            job.failures_in_the_end = None if event.attempts_made is None else event.attempts_made - 1
            last = job.held[-1].value
            if isinstance(last, RunDraft):
                last.exhausted = True
        elif self.told and isinstance(run := self.told[-1], Run) and run.job == event.job:
            self.told[-1] = replace(run, exhausted=True)

    def _decide(self, job: OpenJob, one: Held, *, failed: bool) -> None:
        one.undecided = False
        if isinstance(one.value, RunDraft):
            one.value.outcome = Outcome.RETRIED if failed else Outcome.DELAYED
        if not one.value.live:
            return
        if failed:
            self.count_failure("retried", job.name)
        elif one.by_delay:
            self.count("delayed", job.name)

    def _tell(self, job: OpenJob, value: StartedDraft | RunDraft, ordinal: int, why: Why | None) -> None:
        if why is None and self.cards and job.card is None:
            why = Why.CARD
        if job.held is None and (why is None or job.gone):
            self.told.append(value.freeze())
        else:
            self._hold(job, Held(value, ordinal), why or Why.CARD)

    def _hold(self, job: OpenJob, held: Held, why: Why, *, error: bool = False) -> None:
        if job.held is None:
            job.held = []
        job.held.append(held)
        outcome_by_error = why is Why.OUTCOME and not self.jobs.starts_counted
        self.ask(job, why, error=error or outcome_by_error or (self.cards and why is Why.OUTCOME))


def _last_failed(held: list[Held]) -> Held | None:
    """The value that a job's last error belongs to."""
    failed = [one for one in held if isinstance(one.value, RunDraft) and one.value.outcome in _FAILED]
    return failed[-1] if failed else None
