"""The flood of flood.mjs, whose head describes flags, output and ledger, with the Python port of BullMQ."""
# ruff: noqa: INP001 - a program that is run by its path: its folder is no package

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from bullmq import Queue, Worker
from driver import connection_of

if TYPE_CHECKING:
    from bullmq import Job

Run: TypeAlias = "tuple[str, str, int, int, int, int, int, str]"

_BULK = 100
_METRICS_POINTS = 60
_MAX_EVENTS = 10_000
_STALLING = {"lockDuration": 3000, "lockRenewTime": 2**30, "stalledInterval": 500}


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--queues", type=lambda names: names.split(","), default="flood-1,flood-2,flood-3,flood-4")
    for name, default in (("workers", 2), ("concurrency", 10), ("sleep", 0), ("attempts", 2), ("backoff", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--fail-once", type=int, default=10)
    parser.add_argument("--fail-always", type=int, default=50)
    parser.add_argument("--stall", type=int, default=0)
    parser.add_argument("--remove", choices=("nothing", "completed", "all"), default="completed")
    for name in ("metrics", "runs", "wait"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args()


def _now_ms() -> int:
    return round(time.time() * 1000)


@dataclass(slots=True)
class Page:
    """What became of the jobs of one queue; the names are those of the ledger."""

    added: int = 0
    completed: int = 0
    failed: int = 0
    retried: int = 0
    stalled: int = 0
    waitMs: int = 0  # noqa: N815 - the ledger's own spelling
    processingMs: int = 0  # noqa: N815 - the ledger's own spelling
    settledMs: int = 0  # noqa: N815 - the ledger's own spelling


@dataclass(slots=True)
class Book:
    """The ledger as it grows; `done` is set when as many jobs have ended as are to be added."""

    jobs: int
    pages: dict[str, Page] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    ended: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def end_job(self) -> None:
        """One more job has ended for good."""
        self.ended += 1
        if self.ended == self.jobs:
            self.done.set()


class Past(NamedTuple):
    """What a job has behind it, and since when it could have run again."""

    ready: int
    runs: int = 0
    failures: int = 0


class Channel:
    """One queue with its workers."""

    def __init__(self, name: str, flags: argparse.Namespace, book: Book) -> None:
        self.name = name
        self._flags = flags
        self._book = book
        self.page = book.pages[name] = Page()
        self._open: dict[int, Past] = {}
        self._hung: dict[str, Job] = {}
        self._ends: dict[tuple[int, int], int] = {}
        self._options = {
            "connection": connection_of(os.environ.get("QOBSERVE_REDIS_URL", "redis://127.0.0.1:6379/0")),
            "prefix": os.environ.get("QOBSERVE_PREFIX", "bull"),
        }
        self.queue = Queue(name, self._options)
        self.workers: list[Worker] = []

    async def start(self) -> None:
        """Make the queue one that can be found, as a Queue of Node.js does by itself, and start its workers."""
        await self.queue.client.hset(self.queue.keys["meta"], "opts.maxLenEvents", _MAX_EVENTS)
        options = {**self._options, "concurrency": self._flags.concurrency, **(_STALLING if self._flags.stall else {})}
        if self._flags.metrics:
            options["metrics"] = {"maxDataPoints": _METRICS_POINTS}
        for _ in range(self._flags.workers):
            worker = Worker(self.name, self._run, options)
            worker.on("completed", lambda job, _: self._settle(job, "completed"))
            worker.on("failed", lambda job, _: self._settle(job, self._failure(job)))
            worker.on("stalled", self._stall)
            worker.on("error", lambda error, *_: self._book.errors.append(str(error)))
            self.workers.append(worker)

    async def fill(self, count: int) -> None:
        """Add `count` jobs."""
        flags = self._flags
        opts = {
            "attempts": flags.attempts,
            "removeOnComplete": flags.remove != "nothing",
            "removeOnFail": flags.remove == "all",
        }
        if flags.backoff:
            opts["backoff"] = {"type": "fixed", "delay": flags.backoff}
        while self.page.added < count:
            numbers = range(self.page.added + 1, min(count, self.page.added + _BULK) + 1)
            bulk = [{"name": "flood", "data": {"n": number}, "opts": opts} for number in numbers]
            self.page.added += len(await self.queue.addBulk(bulk))

    async def _run(self, job: Job, _: str) -> int:
        flags, number, past = self._flags, job.data["n"], self._past(job)
        if _is_each(flags.stall, number) and past.runs == 0:
            self._hung[job.id] = job
            await asyncio.Event().wait()
        if flags.sleep:
            await asyncio.sleep(flags.sleep / 1000)
        once = _is_each(flags.fail_once, number) and past.failures == 0
        self._ends[number, past.runs] = _now_ms()
        if once or _is_each(flags.fail_always, number):
            raise RuntimeError("told to fail")
        return number

    def _past(self, job: Job) -> Past:
        return self._open.get(job.data["n"]) or Past(job.timestamp)

    def _failure(self, job: Job) -> str:
        return "retried" if self._past(job).failures + 1 < self._flags.attempts else "failed"

    def _stall(self, job_id: str | bytes) -> None:
        name = job_id.decode() if isinstance(job_id, bytes) else job_id
        if name in self._hung:
            self._settle(self._hung[name], "stalled")
        else:
            self._book.errors.append(f"job {name} stalled unasked")

    def _settle(self, job: Job, outcome: str) -> None:
        settled, number, page, past = _now_ms(), job.data["n"], self.page, self._past(job)
        ended = self._ends.pop((number, past.runs), settled)
        setattr(page, outcome, getattr(page, outcome) + 1)
        page.waitMs += job.processedOn - past.ready
        page.processingMs += ended - job.processedOn
        page.settledMs += settled - job.processedOn
        if self._flags.runs:
            times = (past.ready, job.processedOn, ended, settled)
            self._book.runs.append((self.name, job.id, past.runs + 1, *times, outcome))
        if outcome == "retried":
            self._open[number] = Past(ended + self._flags.backoff, past.runs + 1, past.failures + 1)
        elif outcome == "stalled":
            self._open[number] = Past(ended, past.runs + 1, past.failures)
        else:
            self._open.pop(number, None)
            self._book.end_job()


def _is_each(period: int, number: int) -> bool:
    return period > 0 and number % period == 0


def _say(answer: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def _flood(flags: argparse.Namespace, channels: list[Channel], book: Book) -> dict[str, object]:
    began = time.time()
    shares = [(flags.jobs + len(channels) - 1 - index) // len(channels) for index in range(len(channels))]
    await asyncio.gather(*(channel.fill(share) for channel, share in zip(channels, shares, strict=True)))
    added_seconds = time.time() - began
    if flags.jobs and flags.workers:
        await book.done.wait()
    seconds = time.time() - began
    await asyncio.gather(*(worker.close(flags.stall > 0) for channel in channels for worker in channel.workers))
    return {
        "version": version("bullmq"),
        "seconds": seconds,
        "addedSeconds": added_seconds,
        "cpuSeconds": time.process_time(),
        "queues": {name: asdict(page) for name, page in book.pages.items()},
        "runs": book.runs,
        "errors": book.errors,
    }


async def main() -> None:
    """Flood, and print the ledger."""
    flags = _flags()
    book = Book(flags.jobs)
    channels = [Channel(name, flags, book) for name in flags.queues]
    await asyncio.gather(*(channel.start() for channel in channels))
    _say({"ready": flags.queues})
    if flags.wait:
        await asyncio.to_thread(sys.stdin.readline)
    _say({"ledger": await _flood(flags, channels, book)})
    await asyncio.gather(*(channel.queue.close() for channel in channels))


if __name__ == "__main__":
    asyncio.run(main())
