"""Queues written key by key, in BullMQ's layouts: for states that take hours, or luck, to reach by running it."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import redis


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job's hash; moments are milliseconds ago, `opts` is as BullMQ stores it."""

    age: int
    opts: dict[str, object] = field(default_factory=dict)
    ran: int | None = None
    attempts: int = 0
    attempts_field: str = "atm"
    stalls: int = 0

    def fields(self, now_ms: int) -> dict[str, str]:
        """The hash."""
        fields = {
            "name": "job",
            "data": "{}",
            "opts": json.dumps(self.opts),
            "timestamp": str(now_ms - self.age),
            "delay": "0",
            "priority": str(self.opts.get("priority", 0)),
        }
        if self.ran is not None:
            fields["processedOn"] = str(now_ms - self.ran)
        if self.stalls:
            fields["stc" if self.attempts_field == "atm" else "stalledCounter"] = str(self.stalls)
        if self.attempts:
            fields[self.attempts_field] = str(self.attempts)
        return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A queue: `wait` from its head (the newest) to its tail (the next to run), levels in order of arrival."""

    wait: list[Job] = field(default_factory=list)
    levels: dict[int, list[Job]] = field(default_factory=dict)
    active: list[Job] = field(default_factory=list)
    paused_list: bool = False
    paused: bool = False

    def plant(self, client: redis.Redis, queue: str, *, prefix: str = "bull") -> None:
        """Write it, in one transaction."""
        now_ms = server_ms(client)
        base = f"{prefix}:{queue}:"
        ids = itertools.count(1)
        with client.pipeline(transaction=True) as pipe:
            pipe.hset(f"{base}meta", mapping={"opts.maxLenEvents": "10000", **({"paused": "1"} if self.paused else {})})

            def put(job: Job) -> str:
                name = str(next(ids))
                pipe.hset(f"{base}{name}", mapping=job.fields(now_ms))  # type: ignore[arg-type]  # its stub wants a union
                return name

            for job in reversed(self.wait):
                pipe.lpush(base + ("paused" if self.paused_list else "wait"), put(job))
            for priority, jobs in self.levels.items():
                for position, job in enumerate(jobs):
                    pipe.zadd(f"{base}prioritized", {put(job): priority * 2**32 + position})
            for job in reversed(self.active):
                name = put(job)
                pipe.lpush(f"{base}active", name)
                pipe.set(f"{base}{name}:lock", "token", px=30_000)
            pipe.set(f"{base}id", str(next(ids) - 1))
            pipe.execute()


def server_ms(client: redis.Redis) -> int:
    """The server's clock."""
    seconds, micros = client.time()  # type: ignore[misc]  # its stub allows for asynchronous clients
    return int(seconds) * 1000 + int(micros) // 1000
