"""A flood's ledger is true: Redis says the same by other ways, and says otherwise as soon as anything differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import pytest

from rig import oracle
from rig.child import RigTimeoutError
from rig.drivers import DEFAULT_DRIVER, DRIVERS, driving
from rig.flood import FloodOptions, flood_over, flooding
from rig.servers import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import redis

    from rig.ledger import Ledger, QueueLedger
    from rig.servers import Server

QUEUES = ("left", "middle", "right")
SMALL = FloodOptions(
    jobs=601, queues=QUEUES, remove="nothing", metrics=True, runs=True, backoff_ms=20, stall_every=150, concurrency=5
)
_CLOSE_MS = 100


class Account(NamedTuple):
    """What became of a queue's jobs."""

    added: int | None
    completed: int | None
    failed: int | None
    retried: int
    stalled: int


def hashes(client: redis.Redis, name: str) -> dict[str, dict[bytes, bytes]]:
    truth = oracle.read(client, name)
    ids = [*truth.ids["completed"], *truth.ids["failed"]]
    return {job: cast("dict[bytes, bytes]", client.hgetall(f"bull:{name}:{job}")) for job in ids}


def told_by_redis(client: redis.Redis, name: str, *, starts_count: bool) -> Account:
    """From the id counter, the workers' metrics and the jobs' own attempts; no job may have been removed."""
    truth, jobs = oracle.read(client, name), hashes(client, name).values()
    stalled = sum(int(job.get(b"stc") or job.get(b"stalledCounter") or 0) for job in jobs)
    made = sum(int(job.get(b"atm") or job.get(b"attemptsMade") or 0) for job in jobs)
    retried = made - len(jobs) - (stalled if starts_count else 0)
    assert (truth.completed or 0, truth.failed or 0) == (truth.jobs["completed"], truth.jobs["failed"])
    return Account(truth.add_attempts, truth.jobs["completed"], truth.jobs["failed"], retried, stalled)


def told_by_ledger(page: QueueLedger) -> Account:
    return Account(page.added, page.completed, page.failed, page.retried, page.stalled)


class Flooded(NamedTuple):
    """A flood that is over, on a server of its own that still has every job."""

    name: str
    client: redis.Redis
    ledger: Ledger

    @property
    def redis(self) -> dict[str, Account]:
        starts_count = self.name in {"node-3.16.2", "node-4.18.3"}
        return {name: told_by_redis(self.client, name, starts_count=starts_count) for name in QUEUES}


@pytest.fixture(scope="module", params=DRIVERS)
def flooded(request: pytest.FixtureRequest) -> Iterator[Flooded]:
    """One flood of each version for all tests that only read it, or undo what they do."""
    with running() as server, server.client() as client:
        yield Flooded(request.param, client, flood_over(server, SMALL, request.param))


def test_the_ledger_is_what_redis_says(flooded: Flooded) -> None:
    assert flooded.ledger.errors == ()
    assert flooded.redis == {name: told_by_ledger(page) for name, page in flooded.ledger.queues.items()}


def test_the_ledger_is_what_was_asked_for(flooded: Flooded) -> None:
    added = {name: page.added for name, page in flooded.ledger.queues.items()}
    assert added == {"left": 201, "middle": 200, "right": 200}
    # The 150th job fails always and hangs first; up to BullMQ 4 the run that hung uses up one of its two attempts.
    retried = 19 if flooded.name in {"node-3.16.2", "node-4.18.3"} else 20
    assert told_by_ledger(flooded.ledger.queues["right"]) == Account(200, 196, 4, retried, 1)


def test_runs_are_those_of_the_jobs(flooded: Flooded) -> None:
    last = {(run.queue, run.job): run for run in flooded.ledger.runs}
    jobs = {(name, job): fields for name in QUEUES for job, fields in hashes(flooded.client, name).items()}
    assert last.keys() == jobs.keys()
    assert {key: run.processed_ms for key, run in last.items()} == {
        key: int(fields[b"processedOn"]) for key, fields in jobs.items()
    }
    late = {key: int(fields[b"finishedOn"]) - last[key].ended_ms for key, fields in jobs.items()}
    assert max(map(abs, late.values())) <= (_CLOSE_MS if flooded.name.startswith("python") else 0)


def test_sums_are_those_of_the_runs(flooded: Flooded) -> None:
    for name, page in flooded.ledger.queues.items():
        runs = [run for run in flooded.ledger.runs if run.queue == name]
        assert len(runs) == page.runs
        assert sum(run.processed_ms - run.ready_ms for run in runs) == page.wait_ms
        assert sum(run.ended_ms - run.processed_ms for run in runs) == page.processing_ms
        assert sum(run.settled_ms - run.processed_ms for run in runs) == page.settled_ms


SABOTAGE: dict[str, Callable[[redis.Redis, bytes], object]] = {
    "added": lambda client, _: client.incr("bull:left:id"),
    "retried": lambda client, job: client.hincrby(f"bull:left:{job.decode()}", "atm", 5),
    "stalled": lambda client, job: client.hincrby(f"bull:left:{job.decode()}", "stc", 5),
}


@pytest.mark.parametrize("kind", SABOTAGE)
def test_a_difference_is_seen(server: Server, redis_client: redis.Redis, kind: str) -> None:
    options = FloodOptions(jobs=20, queues=("left",), remove="nothing", metrics=True)
    page = told_by_ledger(flood_over(server, options).queues["left"])
    assert told_by_redis(redis_client, "left", starts_count=False) == page

    (job,) = cast("list[bytes]", redis_client.zrange("bull:left:completed", 0, 0))
    SABOTAGE[kind](redis_client, job)
    told = told_by_redis(redis_client, "left", starts_count=False)
    assert [name for name in Account._fields if getattr(told, name) != getattr(page, name)] == [kind]


def test_a_stranger_s_job_is_in_redis_only(server: Server, redis_client: redis.Redis) -> None:
    options = FloodOptions(jobs=20, queues=("left",), remove="nothing", metrics=True, workers=0)
    with driving(DEFAULT_DRIVER, server) as stranger, flooding(DEFAULT_DRIVER, server, options) as flood:
        stranger.call("add", queue="left", name="strange")
        flood.go()
        assert flood.ledger().queues["left"].added == 20
    assert oracle.read(redis_client, "left").add_attempts == 21


def test_what_is_removed_is_in_the_ledger_only(server: Server, redis_client: redis.Redis) -> None:
    options = FloodOptions(jobs=100, queues=("left",), remove="all", metrics=True)
    page = flood_over(server, options).queues["left"]
    truth = oracle.read(redis_client, "left")
    assert (truth.jobs["completed"], truth.jobs["failed"]) == (0, 0)
    assert (
        (page.added, page.completed, page.failed) == (truth.add_attempts, truth.completed, truth.failed) == (100, 98, 2)
    )


@pytest.mark.parametrize("name", DRIVERS)
def test_queues_can_be_found_before_the_first_job(server: Server, redis_client: redis.Redis, name: str) -> None:
    with flooding(name, server, FloodOptions(jobs=10, queues=QUEUES)) as flood:
        assert oracle.queues(redis_client) == {("bull", queue) for queue in QUEUES}
        assert redis_client.exists(*(f"bull:{queue}:events" for queue in QUEUES)) == 0
        flood.go()
        assert sum(page.added for page in flood.ledger().queues.values()) == 10


def test_a_flood_that_dies_has_no_ledger(server: Server) -> None:
    with flooding(DEFAULT_DRIVER, server, FloodOptions(sleep_ms=60_000)) as flood:
        flood.go()
        flood.child.signal(9)
        with pytest.raises(RigTimeoutError, match="it died"):
            flood.ledger()
