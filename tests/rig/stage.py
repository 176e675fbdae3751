"""What scenarios play on, and what they leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rig import oracle
from rig.child import wait_until
from rig.drivers import OperationError

if TYPE_CHECKING:
    import redis

    from rig.drivers import Driver, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A queue that a scenario has left.

    Attributes:
        prefix: Its prefix.
        queue: Its name.
        workers: How many workers it has.
        exact_age: Whether the ages of its jobs are exact by definition, not within a bound.
        limit: Its global concurrency limit.
        rate_limited: Whether no job may be taken for a good while.
    """

    queue: str
    prefix: str = "bull"
    workers: int = 0
    exact_age: bool = True
    limit: int | None = None
    rate_limited: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a scenario plays on: a driver, a second one that may crash, and a view of the keys."""

    driver: Driver
    victim: Driver
    client: redis.Redis

    def add(self, queue: str, *, name: str = "job", prefix: str = "bull", **opts: Json) -> str:
        """Add a job and tell its id."""
        answer = self.driver.call("add", queue=queue, prefix=prefix, name=name, data={"key": name}, opts=opts)
        job = answer["jobId"]
        assert isinstance(job, str)
        return job

    def supported(self, op: str, **fields: Json) -> bool:
        """Apply an operation; False where this version has none of it."""
        try:
            self.driver.call(op, timeout=15, **fields)
        except OperationError as error:
            if error.unsupported:
                return False
            raise
        return True

    def settle(self, queue: str, **jobs: int) -> None:
        """Wait until a queue holds so many jobs by state (`waiting_children` for `waiting-children`)."""

        def settled() -> bool:
            held = oracle.read(self.client, queue).jobs
            return all(held[state.replace("_", "-")] == count for state, count in jobs.items())

        wait_until(settled, f"{queue} to hold {jobs}")
