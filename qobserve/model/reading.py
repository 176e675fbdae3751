"""From the answers about one queue to its snapshot.

The answers come in two round trips: `Answers` (fixed questions) and `Details` (what depended on them).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from qobserve.model.keys import text
from qobserve.model.limits import concurrency_limit, rate_limited_ms
from qobserve.model.reply import natural, strings, whole
from qobserve.model.scores import due_ms, milliseconds
from qobserve.model.snapshot import QueueSnapshot
from qobserve.model.states import MARKER, State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from qobserve.model.events import StreamFacts
    from qobserve.model.job import ReadyAt
    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply
    from qobserve.model.snapshot import Groups, Problem, Scheduler, Workers


class Answers(NamedTuple):
    """The replies to `reader.questions.QUESTIONS`, in its order."""

    wait_length: Reply
    wait_tail: Reply
    wait_head: Reply
    paused_tail: Reply
    active_tail: Reply
    prioritized_length: Reply
    prioritized_first: Reply
    delayed_length: Reply
    delayed_first: Reply
    children_length: Reply
    children_first: Reply
    completed_length: Reply
    completed_last: Reply
    failed_length: Reply
    failed_first: Reply
    failed_last: Reply
    meta: Reply
    id: Reply
    completed_count: Reply
    failed_count: Reply
    events: Reply
    limiter_ttl: Reply
    schedulers_first: Reply


class Rest(NamedTuple):
    """The replies to `reader.rest.rest_commands`; None for what the first answers tell already."""

    paused_length: Reply = None
    active_length: Reply = None
    schedulers_length: Reply = None
    limiter: Reply = None
    schedulers_skipped: Reply = None


NOTHING_LEFT = Rest()
_AT_ONCE_MS = 1000
"""An idle worker takes a job within this time, unless something holds it back."""


class Meta(NamedTuple):
    """The fields of `meta` that are asked for, in the order of `reader.questions.META_FIELDS`."""

    events_limit: Reply = None
    version: Reply = None
    paused: Reply = None
    concurrency: Reply = None
    limit_max: Reply = None
    limit_duration: Reply = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What the second round trip told about a queue."""

    waiting_since: ReadyAt | None = None
    prioritized_since: ReadyAt | None = None
    active_since_ms: int | None = None
    unlocked: int | None = None
    data_bytes: int | None = None
    workers: Workers | None = None
    groups: Groups | None = None
    schedulers: tuple[Scheduler, ...] = ()
    layout: str = "unknown"
    rest: Rest = NOTHING_LEFT
    problems: tuple[Problem, ...] = field(default=())


def meta_of(answers: Answers) -> Meta:
    """The fields of `meta`; all None where it is missing or no hash."""
    return Meta(*answers.meta) if isinstance(answers.meta, list) and len(answers.meta) == len(Meta._fields) else Meta()


def queue_snapshot(queue: QueueId, answers: Answers, stream: StreamFacts, details: Details, now: int) -> QueueSnapshot:
    """Put together what both round trips told; `now` is the server's clock in ms."""
    meta = meta_of(answers)
    jobs = _jobs(answers, details.rest)
    schedulers = _count(answers.schedulers_first, details.rest.schedulers_length, per=2)
    library, version = _library(meta.version)
    return QueueSnapshot(
        queue=queue,
        jobs=jobs,
        paused=meta.paused is not None if isinstance(answers.meta, list) else None,
        waiting_since=details.waiting_since,
        prioritized_since=details.prioritized_since,
        active_since_ms=details.active_since_ms,
        waiting_children_since_ms=_first(answers.children_first, milliseconds),
        failed_since_ms=_first(answers.failed_first, milliseconds),
        due_ms=_first(answers.delayed_first, due_ms),
        last_completed_ms=_first(answers.completed_last, milliseconds),
        last_failed_ms=_first(answers.failed_last, milliseconds),
        workers=details.workers,
        unlocked=details.unlocked,
        concurrency_limit=concurrency_limit(meta.concurrency),
        rate_limited_ms=_limited(answers, meta, jobs, details, now),
        scheduler_count=schedulers,
        schedulers=details.schedulers,
        schedulers_hidden=_hidden(schedulers, answers.schedulers_first, details),
        add_attempts=0 if answers.id is None else natural(answers.id),
        events_added=stream.added,
        events_retained=stream.retained,
        events_limit=natural(meta.events_limit),
        last_event_ms=stream.last_ms,
        completed=natural(answers.completed_count),
        failed=natural(answers.failed_count),
        data_bytes=details.data_bytes,
        library=library,
        version=version,
        layout=details.layout,
        groups=details.groups,
        problems=details.problems,
    )


def _library(version: Reply) -> tuple[str, str]:
    """Library and version, of what a `Queue` object wrote into `meta`, such as `bullmq:6.7.0`."""
    library, _, number = text(version).partition(":") if isinstance(version, bytes) else ("bullmq", "", "")
    return library, number


def _limited(answers: Answers, meta: Meta, jobs: Mapping[State, int], details: Details, now_ms: int) -> int | None:
    """The rate limit; jobs are held back if they have been ready for a while, and workers could take one but do not."""
    ready = [since.ms for since in (details.waiting_since, details.prioritized_since) if since is not None]
    held_back = (
        meta.paused is None
        and details.workers is not None
        and details.workers.count > 0
        and jobs.get(State.ACTIVE) == 0
        and any(now_ms - ms > _AT_ONCE_MS for ms in ready)
    )
    busy = bool(jobs.get(State.ACTIVE))
    return rate_limited_ms(details.rest.limiter, answers.limiter_ttl, meta.limit_max, held_back=held_back, busy=busy)


def _jobs(answers: Answers, rest: Rest) -> dict[State, int]:
    counted = {
        State.WAITING: _without_markers(whole(answers.wait_length), answers.wait_tail, answers.wait_head),
        State.PAUSED: _without_markers(_count(answers.paused_tail, rest.paused_length), answers.paused_tail),
        State.PRIORITIZED: whole(answers.prioritized_length),
        State.DELAYED: whole(answers.delayed_length),
        State.WAITING_CHILDREN: whole(answers.children_length),
        State.ACTIVE: _without_markers(_count(answers.active_tail, rest.active_length), answers.active_tail),
        State.COMPLETED: whole(answers.completed_length),
        State.FAILED: whole(answers.failed_length),
    }
    return {state: count for state, count in counted.items() if count is not None}


def _count(window: Reply, length: Reply, *, per: int = 1) -> int | None:
    """How many there are: as many as the window shows (`per` replies each), or the length where they fill it."""
    if length is not None:
        return whole(length)
    return len(window) // per if isinstance(window, list) else None


def _hidden(count: int | None, window: Reply, details: Details) -> int:
    """Schedulers behind the window; those before it are known to have ended."""
    return max((count or 0) - (whole(details.rest.schedulers_skipped) or 0) - len(strings(window)) // 2, 0)


def _without_markers(count: int | None, tail: Reply, head: Reply = None) -> int | None:
    """A list's length without the fake ids, which sit at its ends."""
    if count is None:
        return None
    seen = strings(tail)
    if isinstance(head, bytes) and count > len(seen):
        seen.append(head)
    return max(count - sum(job.startswith(MARKER) for job in seen), 0)


def _first(reply: Reply, moment: Callable[[bytes | float], int | None]) -> int | None:
    """The moment that the score of the one member in a reply WITHSCORES holds."""
    match reply:
        case [_, bytes(score)]:
            return moment(score)
        case _:
            return None
