"""Nothing of what jobs carry, return or complain about is in any byte that is exported."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from bullmq import Queue, UnrecoverableError, Worker
from rig.child import wait_until
from rig.drivers import driving
from rig.otlp import receiving
from rig.performance import tracing_alone
from rig.told import job_of

if TYPE_CHECKING:
    import redis
    from bullmq import Job
    from rig.otlp import OtlpReceiver
    from rig.servers import Server

SECRET = "S3CR3T"  # noqa: S105 - that is what is looked for
LONG = SECRET * 1_000
NODE_SAYS = b"told to fail"
JOBS = {"p-returns", "p-fails", "p-retries", "p-chained", "n-returns", "n-fails", "n-retries"}


async def _process(job: Job, _token: str) -> object:
    await job.updateProgress({"secret": SECRET})
    await job.log(SECRET)
    if job.name == "fails":
        raise UnrecoverableError(f"{LONG}\n{SECRET}\n{SECRET}: {SECRET}")
    if job.name == "retries" and job.attemptsMade == 0:
        raise ValueError(f"{SECRET}: {SECRET}\n{SECRET}")
    if job.name == "chained":
        try:
            {}[SECRET]  # a KeyError with it as its message
        except KeyError as exc:
            raise RuntimeError(f"{SECRET}\n{SECRET}") from exc
    return {"secret": SECRET}


async def _in_python(url: str) -> None:
    """Jobs whose every field that a person fills holds the secret, but for their names and ids."""
    queue = Queue("python", {"connection": url})
    names = ("returns", "fails", "retries", "chained")
    for name in names:
        opts = {"jobId": f"p-{name}", "attempts": 2 if name == "retries" else 1}
        await queue.add(name, {"secret": SECRET, "more": LONG}, opts)
    ended: asyncio.Queue[None] = asyncio.Queue()
    worker = Worker("python", _process, {"connection": url})
    for end in ("completed", "failed"):
        worker.on(end, lambda *_: ended.put_nowait(None))
    async with asyncio.timeout(15):
        for _ in (*names, "once more"):
            await ended.get()
    await worker.close()
    await queue.close()


def _in_node(server: Server) -> None:
    with driving("node-6.7.0", server) as driver:
        script = {"returns": {"result": SECRET}, "fails": {"fail": True}, "retries": {"fail": 1, "result": SECRET}}
        driver.call("work", worker="w", queue="node", script=script)
        for name in script:
            opts = {"jobId": f"n-{name}", "attempts": 2 if name == "retries" else 1}
            driver.call("add", queue="node", name=name, data={"secret": SECRET, "more": LONG}, opts=opts)
        for name in script:
            wait_until(
                lambda job=f"n-{name}": (
                    driver.call("getJobState", queue="node", jobId=job)["state"]  # type: ignore[misc] # as usual
                    in {"completed", "failed"}
                ),
                "the job to end",
            )


def _told(receiver: OtlpReceiver) -> set[str]:
    ends = {"completed", "failed"}
    return {job_of(span) for span in receiver.spans if span.attributes.get("bullmq.job.outcome") in ends}


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_no_exported_byte_tells_a_secret(server: Server, redis_client: redis.Redis, protocol: str) -> None:
    with receiving() as receiver:
        words = ("--redis.url", server.url, "--discovery.interval", "1s", "--tracing.otlp-protocol", protocol)
        with tracing_alone(*words, "--tracing.otlp-endpoint", receiver.endpoint(protocol)) as tracer:
            asyncio.run(_in_python(server.url))
            _in_node(server)
            wait_until(lambda: _told(receiver) == JOBS, "all jobs to be told", timeout=20)
            assert SECRET not in tracer.log()
            assert tracer.terminate() == 0
        sent = b"".join(request.body for request in receiver.requests)
        classes = {str(span.attributes.get("error.type")) for span in receiver.spans if span.status == "error"}
    assert {name.rpartition(".")[2] for name in classes} == {
        "UnrecoverableError", "ValueError", "RuntimeError", "Error",
    }  # fmt: skip
    assert (SECRET.encode() in sent, NODE_SAYS in sent, b"/driver.mjs" in sent) == (False, False, False)
    # They are where they must not be taken from.
    assert SECRET.encode() in b"".join(redis_client.hgetall("bull:python:p-chained").values())
    assert NODE_SAYS in (redis_client.hget("bull:node:n-fails", "failedReason") or b"")
    assert {"job progress"} == {event.name for span in receiver.spans for event in span.events}
