"""What a workload knows of itself when it is over: ends and times by queue, and each run where it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueLedger:
    """What became of one queue's jobs, as the workload knows it.

    Attributes:
        added: Jobs that were added.
        completed: Jobs that ended well.
        failed: Jobs that failed for good.
        retried: Attempts that failed and were followed by another.
        stalled: Runs that hung until a worker found them stalled.
        wait_ms: Over all runs: from ready (added; failed before, and backed off; found stalled) to `processedOn`.
        processing_ms: Over all runs: from `processedOn` to the end as the worker sees it.
        settled_ms: Over all runs: from `processedOn` until the worker knows that Redis has taken the end.
    """

    added: int
    completed: int
    failed: int
    retried: int
    stalled: int
    wait_ms: int
    processing_ms: int
    settled_ms: int

    @property
    def runs(self) -> int:
        """How often a worker took a job and the run came to an end."""
        return self.completed + self.failed + self.retried + self.stalled

    @property
    def attempts_failed(self) -> int:
        """Attempts that failed, whatever came after."""
        return self.failed + self.retried


class JobRun(NamedTuple):
    """One run of a job, its first being number 1; moments are milliseconds since the epoch on the workload's clock."""

    queue: str
    job: str
    number: int
    ready_ms: int
    processed_ms: int
    ended_ms: int
    settled_ms: int
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What a flood knows of itself when it is over.

    Attributes:
        version: BullMQ's version.
        seconds: From the first job's addition to the last job's end.
        adding_seconds: How long jobs were added.
        cpu_seconds: What the workload's process used.
        queues: The ledger of each queue.
        runs: All runs, in the order of their ends, where they were asked for.
        errors: What queues and workers have reported; a ledger with errors is not to be trusted.
    """

    version: str
    seconds: float
    adding_seconds: float
    cpu_seconds: float
    queues: Mapping[str, QueueLedger]
    runs: tuple[JobRun, ...]
    errors: tuple[str, ...]

    @property
    def jobs_per_second(self) -> float:
        """Jobs that ended, over the whole time."""
        return sum(one.completed + one.failed for one in self.queues.values()) / self.seconds


def ledger_of(answer: object) -> Ledger:
    """The ledger as a flood prints it, taken apart."""
    assert isinstance(answer, dict)
    queues = {name: _page_of(page) for name, page in answer["queues"].items()}
    return Ledger(
        version=answer["version"],
        seconds=answer["seconds"],
        adding_seconds=answer["addedSeconds"],
        cpu_seconds=answer["cpuSeconds"],
        queues=MappingProxyType(queues),
        runs=tuple(JobRun(*run) for run in answer["runs"]),
        errors=tuple(answer["errors"]),
    )


def _page_of(page: dict[str, int]) -> QueueLedger:
    times = {"wait_ms": "waitMs", "processing_ms": "processingMs", "settled_ms": "settledMs"}
    counts = {kind: page[kind] for kind in ("added", "completed", "failed", "retried", "stalled")}
    return QueueLedger(**counts, **{ours: page[theirs] for ours, theirs in times.items()})
