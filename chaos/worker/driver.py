"""The Python port of BullMQ behind the line protocol that driver.mjs describes at its head."""
# ruff: noqa: INP001 - a program that is run by its path: its folder is no package

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

import redis
from bullmq import FlowProducer, Job, Queue, Worker
from bullmq.custom_errors import DelayedError, UnrecoverableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Request: TypeAlias = dict[str, Any]
Reply: TypeAlias = dict[str, object]

_UNKNOWN = (redis.ConnectionError, redis.TimeoutError, OSError, TimeoutError)
_LINE_LIMIT = 64 * 2**20


def connection_of(text: str) -> dict[str, object]:
    """Arguments for redis-py; without its socket timeout, which (5 s since redis-py 8) cuts an idle worker off."""
    url = urlsplit(text)
    login = {"username": unquote(url.username or "") or None, "password": unquote(url.password or "") or None}
    if url.scheme == "unix":
        return {"unix_socket_path": unquote(url.path), "socket_timeout": None, **login}
    tls = {"ssl": True} if url.scheme == "rediss" else {}
    place = {"host": url.hostname, "port": url.port or 6379, "db": int(url.path.strip("/") or 0)}
    return {**place, **tls, **login, "socket_timeout": None}


class Driver:
    """All queues and workers of one driver process, and an operation for each request."""

    def __init__(self, url: str, prefix: str) -> None:
        self._connection = connection_of(url)
        self._prefix = prefix
        self._queues: dict[tuple[str, str], Queue] = {}
        self._workers: dict[str, Worker] = {}
        self._errors: dict[str, list[str]] = {}
        self._flows: FlowProducer | None = None
        self._put_back: set[str] = set()

    async def apply(self, request: Request) -> Reply:
        """What a request asks for, and what its answer adds."""
        snake = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", request["op"])
        operation: Callable[[Request], Awaitable[Reply]] | None = getattr(self, f"_op_{snake}", None)
        if operation is None:
            raise LookupError(f"unknown operation {request['op']}")
        return await operation(request)

    def _options(self, request: Request) -> dict[str, object]:
        return {"connection": self._connection, "prefix": request.get("prefix", self._prefix)}

    def _queue(self, request: Request) -> Queue:
        key = (request.get("prefix", self._prefix), request["queue"])
        if key not in self._queues:
            self._queues[key] = Queue(request["queue"], self._options(request))
        return self._queues[key]

    async def _job(self, request: Request) -> Job:
        job = await Job.fromId(self._queue(request), request["jobId"])
        if job is None:
            raise LookupError(f"no job {request['jobId']}")
        return job

    async def _op_about(self, _: Request) -> Reply:
        return {"library": "bullmq", "version": version("bullmq"), "language": "python"}

    async def _op_add(self, r: Request) -> Reply:
        job = await self._queue(r).add(r["name"], r.get("data", {}), r.get("opts", {}))
        return {"jobId": job.id}

    async def _op_add_bulk(self, r: Request) -> Reply:
        jobs = [{"data": {}, **job} for job in r["jobs"]]
        return {"jobIds": [job.id for job in await self._queue(r).addBulk(jobs)]}

    async def _op_add_flow(self, r: Request) -> Reply:
        if self._flows is None:
            self._flows = FlowProducer(self._options({}))
        tree = await self._flows.add(_with_prefix(r["flow"], r.get("prefix", self._prefix)))
        return {"flow": _flow_ids(tree)}

    async def _op_upsert_scheduler(self, r: Request) -> Reply:
        arguments = (r["scheduler"], r["repeat"], r.get("name"), r.get("data", {}), r.get("opts", {}))
        job = await self._queue(r).upsertJobScheduler(*arguments)
        return {"jobId": job.id if job else None}

    async def _op_remove_scheduler(self, r: Request) -> Reply:
        return {"removed": await self._queue(r).removeJobScheduler(r["scheduler"]) == 0}

    async def _op_pause(self, r: Request) -> Reply:
        await self._queue(r).pause()
        return {}

    async def _op_resume(self, r: Request) -> Reply:
        await self._queue(r).resume()
        return {}

    async def _op_drain(self, r: Request) -> Reply:
        await self._queue(r).drain(r.get("delayed", False))
        return {}

    async def _op_clean(self, r: Request) -> Reply:
        return {"jobIds": await self._queue(r).clean(r.get("grace", 0), r.get("limit", 1000), r["state"])}

    async def _op_obliterate(self, r: Request) -> Reply:
        await self._queue(r).obliterate(r.get("force", False))
        return {}

    async def _op_remove(self, r: Request) -> Reply:
        return {"removed": await self._queue(r).remove(r["jobId"])}

    async def _op_promote(self, r: Request) -> Reply:
        await (await self._job(r)).promote()
        return {}

    async def _op_retry(self, r: Request) -> Reply:
        await (await self._job(r)).retry(r.get("state", "failed"))
        return {}

    async def _op_change_priority(self, r: Request) -> Reply:
        await (await self._job(r)).changePriority({"priority": r["priority"], "lifo": r.get("lifo", False)})
        return {}

    async def _op_rate_limit(self, r: Request) -> Reply:
        await self._queue(r).rateLimit(r["ms"])
        return {}

    async def _op_set_global_concurrency(self, r: Request) -> Reply:
        queue, limit = self._queue(r), r.get("concurrency")
        await (queue.removeGlobalConcurrency() if limit is None else queue.setGlobalConcurrency(limit))
        return {}

    async def _op_set_global_rate_limit(self, r: Request) -> Reply:
        queue, limit = self._queue(r), r.get("max")
        await (queue.removeGlobalRateLimit() if limit is None else queue.setGlobalRateLimit(limit, r["duration"]))
        return {}

    async def _op_get_job_counts(self, r: Request) -> Reply:
        return {"counts": await self._queue(r).getJobCounts()}

    async def _op_get_job_state(self, r: Request) -> Reply:
        return {"state": await self._queue(r).getJobState(r["jobId"])}

    async def _op_metrics(self, _: Request) -> Reply:
        raise NotImplementedError("unsupported")

    async def _op_work(self, r: Request) -> Reply:
        script = r.get("script", {})

        async def run(job: Job, token: str) -> object:
            own = job.data.get("behaviour") if isinstance(job.data, dict) else None
            return await self._behave(own or script.get(job.name) or script.get("*") or {}, job, token)

        options = {**self._options(r), "concurrency": r.get("concurrency", 1), **r.get("options", {})}
        worker = Worker(r["queue"], run, options)
        errors = self._errors[r["worker"]] = []
        worker.on("error", lambda error, *_: errors.append(str(error)))
        self._workers[r["worker"]] = worker
        return {}

    async def _op_stop_worker(self, r: Request) -> Reply:
        await self._workers.pop(r["worker"]).close(r.get("force", False))
        return {}

    async def _op_failures(self, r: Request) -> Reply:
        return {"errors": self._errors[r["worker"]]}

    async def _behave(self, behaviour: Request, job: Job, token: str) -> object:
        if behaviour.get("delay") and job.id not in self._put_back:
            self._put_back.add(job.id)
            await job.moveToDelayed(round(time.time() * 1000) + behaviour["delay"], token)
            raise DelayedError
        await asyncio.sleep(behaviour.get("sleep", 0) / 1000)
        if behaviour.get("hang"):
            await asyncio.Event().wait()
        if behaviour.get("unrecoverable"):
            raise UnrecoverableError("told to fail for good")
        fail = behaviour.get("fail", 0)
        if fail is True or job.attemptsMade < fail:
            raise RuntimeError("told to fail")
        return behaviour.get("result")

    async def close(self) -> None:
        """Close all, without waiting for running jobs."""
        parts = [worker.close(True) for worker in self._workers.values()]  # noqa: FBT003 - the port's own signature
        parts += [part.close() for part in (*self._queues.values(), *([self._flows] if self._flows else []))]
        await asyncio.wait_for(asyncio.gather(*parts, return_exceptions=True), 2)


def _with_prefix(node: Request, prefix: str) -> Request:
    children = [_with_prefix(child, prefix) for child in node.get("children", [])]
    return {"prefix": prefix, "data": {}, **node, "children": children}


def _flow_ids(tree: Request) -> Reply:
    job = tree["job"]
    return {
        "jobId": job.id,
        "queue": job.queue.name,
        "children": [_flow_ids(child) for child in tree.get("children", [])],
    }


async def _handle(driver: Driver, line: bytes) -> None:
    request: Request = {}
    try:
        request = json.loads(line)
        seconds = request["timeoutMs"] / 1000 if "timeoutMs" in request else None
        reply = {"type": "ok", **await asyncio.wait_for(driver.apply(request), seconds)}
    except Exception as error:  # noqa: BLE001 - whatever the library raises is the answer
        kind = "info" if isinstance(error, _UNKNOWN) else "fail"
        reply = {"type": kind, "error": str(error) or type(error).__name__}
    sys.stdout.write(json.dumps({"id": request.get("id"), **reply}) + "\n")
    sys.stdout.flush()


async def main() -> None:
    """Answer requests until standard input ends."""
    driver = Driver(
        os.environ.get("QOBSERVE_REDIS_URL", "redis://127.0.0.1:6379/0"), os.environ.get("QOBSERVE_PREFIX", "bull")
    )
    reader = asyncio.StreamReader(limit=_LINE_LIMIT)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running: set[asyncio.Task[None]] = set()
    async for line in reader:
        task = asyncio.create_task(_handle(driver, line))
        running.add(task)
        task.add_done_callback(running.discard)
    await driver.close()


if __name__ == "__main__":
    asyncio.run(main())
