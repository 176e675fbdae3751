"""What one application goes through while it is traced: plain, retried, stalled and scheduled jobs, and a failed flow.

Producers and workers are processes of their own, so that each can have its own telemetry or none, and can be killed.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rig.child import wait_until
from rig.traced import tracing

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis

    from rig.drivers import Driver
    from rig.servers import Server

QUEUES = ("plain", "retried", "stalled", "flow", "steps", "ticks")
_SCRIPT = {"*": {"sleep": 20}, "fails once": {"fail": 1}, "fails": {"fail": True}, "hangs": {"hang": True}}
_SWIFT = {"lockDuration": 1000, "stalledInterval": 400}
_EVERY_MS = 400
_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who plays: the drivers' names, and whether they trace themselves."""

    producer: str
    worker: str
    producer_traced: bool
    worker_traced: bool

    @property
    def name(self) -> str:
        """What a golden file is called after."""
        sides = ((self.producer, self.producer_traced), (self.worker, self.worker_traced))
        return "-to-".join(f"{name.partition('-')[0]}{'-traced' if traced else ''}" for name, traced in sides)


CASTS = (
    Cast(producer="node-6.7.0", worker="node-6.7.0", producer_traced=True, worker_traced=False),
    Cast(producer="node-6.7.0", worker="node-6.7.0", producer_traced=False, worker_traced=True),
    Cast(producer="python-3.4.4", worker="python-3.4.4", producer_traced=True, worker_traced=True),
    Cast(producer="node-6.7.0", worker="node-6.7.0", producer_traced=False, worker_traced=False),
)


@contextlib.contextmanager
def playing(server: Server, cast: Cast, endpoint: str) -> Iterator[None]:
    """Play it all; in the `with` block no job is open any more, and all but the lost worker are still there.

    Who traces itself sends to the OTLP/HTTP endpoint.
    """
    with server.client() as client, contextlib.ExitStack() as stage:
        producer = stage.enter_context(_producing(server, cast, endpoint))
        producer.call("add", queue="plain", name="welcome", opts={"jobId": "p-1"})
        producer.call("add", queue="plain", name="welcome", opts={"jobId": "p-2", "delay": 200})
        producer.call("add", queue="retried", name="fails once", opts={"jobId": "r-1", "attempts": 2})
        backoff = {"type": "fixed", "delay": 100}
        producer.call("add", queue="retried", name="fails", opts={"jobId": "r-2", "attempts": 2, "backoff": backoff})
        producer.call("addFlow", flow=_flow())
        with _working(server, cast, endpoint) as doomed:
            _lose(client, producer, doomed)
        worker = stage.enter_context(_working(server, cast, endpoint))
        for queue in QUEUES:
            worker.call("work", worker=queue, queue=queue, script=_SCRIPT, options=_SWIFT)
        repeat = {"every": _EVERY_MS, "limit": 2}
        producer.call("upsertScheduler", queue="ticks", scheduler="tick", repeat=repeat, name="tick")
        wait_until(lambda: _over(client), "all jobs to end", timeout=_SECONDS)
        yield


def jobs(client: redis.Redis) -> dict[tuple[str, str], dict[bytes, bytes]]:
    """The hashes of all jobs that are there, by queue and id."""
    found = {}
    for queue in QUEUES:
        for state in ("completed", "failed"):
            for raw in client.zrange(f"bull:{queue}:{state}", 0, -1):
                found[queue, raw.decode()] = client.hgetall(f"bull:{queue}:{raw.decode()}")
    return found


def _producing(server: Server, cast: Cast, endpoint: str) -> contextlib.AbstractContextManager[Driver]:
    return tracing(cast.producer, server, endpoint if cast.producer_traced else None, service="producer")


def _working(server: Server, cast: Cast, endpoint: str) -> contextlib.AbstractContextManager[Driver]:
    return tracing(cast.worker, server, endpoint if cast.worker_traced else None, service="worker")


def _flow() -> dict[str, object]:
    children = [
        {"name": "step", "queueName": "steps", "opts": {"jobId": "c-1"}},
        {"name": "fails", "queueName": "steps", "opts": {"jobId": "c-2", "failParentOnFailure": True}},
    ]
    return {"name": "whole", "queueName": "flow", "opts": {"jobId": "f-1"}, "children": children}


def _lose(client: redis.Redis, producer: Driver, doomed: Driver) -> None:
    """A worker is killed while it works."""
    doomed.call("work", worker="doomed", queue="stalled", script={"*": {"hang": True}}, options=_SWIFT)
    producer.call("add", queue="stalled", name="lost", opts={"jobId": "s-1"})
    wait_until(lambda: client.llen("bull:stalled:active") == 1, "the job to be taken")
    doomed.kill()


def _over(client: redis.Redis) -> bool:
    counts = (
        client.llen(f"bull:{queue}:{state}") if state in {"wait", "active"} else client.zcard(f"bull:{queue}:{state}")
        for queue in QUEUES
        for state in ("wait", "active", "delayed", "waiting-children")
    )
    return sum(counts) == 0
