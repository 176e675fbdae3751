"""The producers and workers of the demo, through the official Python client, in a process of their own.

    python -m qobserve.demo.workload REDIS_URL

Prints "ready" once every queue exists; goes on until it is ended.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

# The client carries no type information.
from bullmq import FlowProducer, Queue, Worker  # type: ignore[import-untyped]

from qobserve.demo.scenarios import READY, SCENARIOS

if TYPE_CHECKING:
    from bullmq import Job

    from qobserve.demo.scenarios import NewJob, Scenario

_BACKLOG_LIMIT = 5_000  # a demo that runs for a week-end stays a small one
_KEEP = {"count": 1_000}


class Producer:
    """Fills the queue of one scenario; flows go through `flows`."""

    def __init__(self, scenario: Scenario, queue: Queue, flows: FlowProducer) -> None:
        self._scenario = scenario
        self._queue = queue
        self._flows = flows
        self._number = 0

    async def open(self) -> None:
        """Bring the queue into the state in which the demo begins."""
        if self._scenario.paused:
            await self._queue.pause()
        if self._scenario.scheduler_ms:
            await self._queue.upsertJobScheduler("every-five-seconds", {"every": self._scenario.scheduler_ms}, "report")
        for _ in range(self._scenario.at_start):
            await self._add()

    async def run(self) -> None:
        """Add for ever, at the scenario's pace."""
        while self._scenario.adds is not None:
            await asyncio.sleep(self._scenario.every)
            if await self._queue.getWaitingCount() < _BACKLOG_LIMIT:
                await self._add()

    async def _add(self) -> None:
        if self._scenario.adds is None:
            return
        for job in self._scenario.adds(self._number):
            if job.children:
                await self._flows.add(_tree(job, self._scenario.queue))
            else:
                await self._queue.add(job.name, dict(job.data), dict(job.opts))
        self._number += 1


def _tree(job: NewJob, queue: str) -> dict[str, object]:
    children = [_tree(child, job.children_queue) for child in job.children]
    return {"name": job.name, "queueName": queue, "data": dict(job.data), "opts": dict(job.opts), "children": children}


def _worker(scenario: Scenario, url: str) -> Worker:
    async def process(job: Job, _token: str) -> str:
        await asyncio.sleep(scenario.runs)
        if job.attemptsMade < job.data.get("fails", 0):
            raise RuntimeError("the bank does not answer")
        return "done"

    keep = {"removeOnComplete": _KEEP, "removeOnFail": _KEEP, "metrics": {"maxDataPoints": 60}}
    return Worker(scenario.queue, process, {"connection": url, "concurrency": scenario.concurrency, **keep})


async def work(url: str) -> None:
    """Run every scenario on the Redis at `url`; returns only by an error."""
    async with AsyncExitStack() as stack:
        flows = FlowProducer(url)
        stack.push_async_callback(flows.close)
        producers = []
        for scenario in SCENARIOS:
            queue = Queue(scenario.queue, {"connection": url})
            stack.push_async_callback(queue.close)
            producers.append(Producer(scenario, queue, flows))
        for producer in producers:
            await producer.open()
        workers = [_worker(scenario, url) for scenario in SCENARIOS if scenario.concurrency]
        for worker in workers:
            stack.push_async_callback(worker.close, force=True)
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        await asyncio.gather(*(producer.run() for producer in producers))


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1]))
