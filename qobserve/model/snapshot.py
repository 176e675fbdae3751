"""What one look at a Redis told: the values that cross from the reader to everything above it.

Nothing here knows that the store is Redis, except `RedisFacts`. A value that could not be read is None, never a guess.
All moments are milliseconds since the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from qobserve.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.model.job import ReadyAt
    from qobserve.model.keys import QueueId


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A part of a queue (or, with no queue, of the whole store) that could not be read."""

    part: str
    queue: QueueId | None
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """How many workers serve a queue, and what says so."""

    count: int
    evidence: Literal["connections", "locks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """A job scheduler (or an older repeatable) and the moment of its next run.

    `certain` is False for one whose next run is past and of which nothing tells whether it has come to its end.
    """

    id: str
    next_ms: int
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """BullMQ Pro's groups that have jobs: free to run, rate-limited, at their own concurrency, paused."""

    free: int
    limited: int
    maxed: int
    paused: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSnapshot:
    """One queue at one moment.

    Attributes:
        queue: Which one.
        jobs: Jobs by state, without fake ids; a state that could not be read is missing.
        paused: Whether the queue is paused; None when unknown.
        waiting_since: The oldest job of `wait` and the legacy `paused` list; None for none, or none that is known.
        prioritized_since: The oldest job over all priority levels; likewise.
        active_since_ms: Start of the longest-running active job.
        waiting_children_since_ms: When the longest-waiting parent began to wait.
        failed_since_ms: When the oldest job of the failed set failed.
        due_ms: When the first delayed job is (or was) due.
        last_completed_ms: When the newest retained completed job finished.
        last_failed_ms: When the newest retained failed job failed.
        workers: None where connections cannot be listed.
        unlocked: Active jobs, of those sampled, that no living worker holds; None when unknown.
        concurrency_limit: The global limit; None when there is none.
        rate_limited_ms: For how long no job will be taken because of a rate limit; 0 for not limited, None when
            a worker's own limit, which no key holds, leaves it open.
        scheduler_count: Schedulers in all; `schedulers` holds the first due of them that go on, and `schedulers_hidden`
            is how many were not looked at.
        add_attempts: How often an add was attempted, rejected duplicates included.
        events_added: Entries ever added to the event stream; None on servers before Redis 7.
        completed: Jobs finished well, as the workers count them; None where they keep no metrics.
        data_bytes: The largest payload among the jobs sampled; None when none was sampled.
        layout: The key layout: `3`, `4`, `5`, `6`, `5+` (5 or later, no version written) or `unknown`.
    """

    queue: QueueId
    jobs: dict[State, int]
    paused: bool | None = None
    waiting_since: ReadyAt | None = None
    prioritized_since: ReadyAt | None = None
    active_since_ms: int | None = None
    waiting_children_since_ms: int | None = None
    failed_since_ms: int | None = None
    due_ms: int | None = None
    last_completed_ms: int | None = None
    last_failed_ms: int | None = None
    workers: Workers | None = None
    unlocked: int | None = None
    concurrency_limit: int | None = None
    rate_limited_ms: int | None = None
    scheduler_count: int | None = None
    schedulers: tuple[Scheduler, ...] = ()
    schedulers_hidden: int = 0
    add_attempts: int | None = None
    events_added: int | None = None
    events_retained: int | None = None
    events_limit: int | None = None
    last_event_ms: int | None = None
    completed: int | None = None
    failed: int | None = None
    data_bytes: int | None = None
    library: str = "bullmq"
    version: str = ""
    layout: str = "unknown"
    groups: Groups | None = None
    problems: tuple[Problem, ...] = ()

    def overdue_ms(self, now_ms: int) -> int | None:
        """For how long the first delayed job has been due; 0 when none is overdue, None when unknown."""
        if self.due_ms is not None:
            return max(now_ms - self.due_ms, 0)
        return 0 if self.jobs.get(State.DELAYED) == 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisFacts:
    """What `INFO` says about the server and the safety of the jobs in it; None where it does not say."""

    server: str
    version: str
    mode: str
    role: str
    eviction_policy: str | None = None
    aof_enabled: bool | None = None
    evicted_keys: int | None = None
    memory_used: int | None = None
    memory_limit: int | None = None
    connected_clients: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why nothing could be read: one word for programs, one sentence for people."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSnapshot:
    """What one server told at one moment.

    Attributes:
        now_ms: The moment, on the server's own clock; ages of its queues are computed on it.
        queues: The queues that it holds.
        facts: The server itself; None where it does not say.
        problems: Parts of the server that could not be read; those of one queue are on the queue.
    """

    now_ms: int
    queues: tuple[QueueSnapshot, ...] = ()
    facts: RedisFacts | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Everything that one look told.

    Attributes:
        servers: The one server, or the shards of a cluster that answered.
        trouble: Why there is nothing, or (in a cluster) why a part is missing.
        duration_seconds: How long the look took.
        discovery_seconds: How long the last complete search for queues took; None before the first.
    """

    servers: tuple[ServerSnapshot, ...] = ()
    trouble: Trouble | None = None
    duration_seconds: float = 0.0
    discovery_seconds: float | None = None

    def queues(self) -> Iterator[QueueSnapshot]:
        """All queues of all servers."""
        for server in self.servers:
            yield from server.queues

    def problems(self) -> Iterator[Problem]:
        """Everything that could not be read: of the servers, and of each queue."""
        for server in self.servers:
            yield from server.problems
            for queue in server.queues:
                yield from queue.problems
