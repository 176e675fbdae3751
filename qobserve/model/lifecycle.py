"""The fold of events into runs of jobs, and into counts; what it means is in docs/events.md."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from qobserve.model.open_jobs import MOST_FAILED, WAITING, FailedJobs, QueueJobs, forget_oldest
from qobserve.model.questions import Question, Why
from qobserve.model.transitions import OF_JOB
from qobserve.model.turn import Told, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qobserve.model.event import Event
    from qobserve.model.keys import QueueId
    from qobserve.model.open_jobs import OpenJob
    from qobserve.model.run import Card

__all__ = ["Lifecycle", "Question", "Told", "Why"]


class Lifecycle:
    """What is known of the jobs of one target that have not ended.

    Totals come from `Counted` alone; `Started` and `Run` are for durations and traces, and add up to no total.

    Args:
        most_open: How many jobs are remembered at most, over all queues; the oldest is forgotten first.
        cards: Whether values are to carry what each job's hash says, as traces need it.
    """

    def __init__(self, most_open: int, *, cards: bool = False) -> None:
        self._most_open = most_open
        self._cards = cards
        self._queues: dict[QueueId, QueueJobs] = {}
        self._failed = FailedJobs(min(most_open, MOST_FAILED))
        self._open = 0
        self._asked = 0

    def feed(self, queue: QueueId, events: Iterable[Event], *, counted_from_ms: int) -> list[Told]:
        """Take events of one queue, oldest first, and tell what they settle.

        Events at or before the last one taken are ignored; those written before `counted_from_ms` are told as not
        live, and not counted.
        """
        jobs = self._queues.get(queue)
        if jobs is None:
            jobs = self._queues[queue] = QueueJobs(queue, self._failed)
        self._open -= len(jobs.open)
        self._asked -= len(jobs.asked)
        turn = Turn(jobs, counted_from_ms=counted_from_ms, cards=self._cards)
        _take(turn, events)
        self._open += len(jobs.open)
        self._asked += len(jobs.asked)
        self._bound(turn)
        return turn.result()

    def questions(self) -> list[Question]:
        """What is open, each job once; to be called after the batches of a round, and answered in that round.

        A job is left out for one round where an event that was written at once with its last may still be unread.
        They come in the order of the events that they are about, also over queues, so that a child's end is told
        before that of the parent which it brought down.
        """
        if not self._asked:
            return []
        asking: list[tuple[int, Question]] = []
        for jobs in self._queues.values():
            if not jobs.asked:
                continue
            unfinished = jobs.unfinished()
            jobs.unread = False
            asking += (
                (job.told_until, Question(queue=jobs.queue, job=raw, why=job.why or Why.CARD, error=job.wants_error))
                for raw, job in jobs.asked.items()
                if raw != unfinished and not job.catches_up()
            )
        asking.sort(key=itemgetter(0))
        return [question for _, question in asking]

    def answer(self, question: Question, card: Card | None) -> list[Told]:
        """Take what a job's hash said, None where it is gone, and tell what that settles."""
        jobs = self._queues.get(question.queue)
        job = None if jobs is None else jobs.asked.get(question.job)
        if jobs is None or job is None:
            return []
        if card is not None:
            jobs.starts_counted = card.attempts_started is not None or bool(jobs.starts_counted)
        turn = Turn(jobs, counted_from_ms=0, cards=self._cards)
        self._asked -= len(jobs.asked)
        turn.settle(job, card)
        self._asked += len(jobs.asked)
        return turn.result()

    def forget(self, queue: QueueId) -> None:
        """Drop all that is known of a queue that has vanished, or whose stream began anew."""
        jobs = self._queues.pop(queue, None)
        if jobs is not None:
            self._failed.forget(queue)
            self._open -= len(jobs.open)
            self._asked -= len(jobs.asked)

    def ready_ms(self, queue: QueueId, job: bytes) -> int | None:
        """When a job that waits became ready, if that was seen."""
        jobs = self._queues.get(queue)
        known = None if jobs is None else jobs.open.get(job)
        return None if known is None or known.at is not WAITING else known.ready_ms

    def taken_to(self, queue: QueueId) -> tuple[int, int]:
        """The id of the last event of a queue that was taken; before all others if there was none."""
        jobs = self._queues.get(queue)
        return (-1, -1) if jobs is None else jobs.last

    def open_job(self, queue: QueueId, job: bytes) -> OpenJob | None:
        """What is known of a job that has not ended, or of which something has yet to be told."""
        jobs = self._queues.get(queue)
        return None if jobs is None else jobs.open.get(job) or jobs.asked.get(job)

    @property
    def open_jobs(self) -> int:
        """How many jobs are remembered."""
        return self._open

    def _bound(self, turn: Turn) -> None:
        """Keep the memory bounded; questions that nobody answers are given up first where there are as many."""
        if self._open > self._most_open:
            self._open -= forget_oldest(self._queues, self._open - self._most_open, self._most_open)
        asked = turn.jobs.asked
        while self._asked > self._most_open and asked:
            turn.give_up(next(iter(asked.values())))
            self._asked -= 1


def _take(turn: Turn, events: Iterable[Event]) -> None:
    jobs = turn.jobs
    last = jobs.last
    for event in events:
        identity = event[:2]
        if identity <= last:
            continue
        last = identity
        raw = event.raw
        if raw is not None:
            transition = OF_JOB.get(event.kind)
            if transition is not None:
                transition(turn, event, raw)
        elif event.kind == "cleaned" and event.count:
            turn.count_event("removed", event, count=event.count)
        jobs.previous = event
    if last != jobs.last:
        jobs.last = last
        jobs.unread = True
