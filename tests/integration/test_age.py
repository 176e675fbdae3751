"""The age of the oldest job against a brute-force reading of every job, over generated queues in BullMQ's layouts."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from rig import oracle
from rig.planted import Job, Planted

from qobserve.config import DiscoverySettings, QueueSettings, TargetSettings
from qobserve.reader.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.servers import Server

    from qobserve.model.snapshot import QueueSnapshot

HOUR = 3_600_000
NAMES = map("age-{}".format, itertools.count())
ON_A_SHARED_SERVER = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

IN_A_CROWD = settings(ON_A_SHARED_SERVER, max_examples=25)
CROWDS = st.sampled_from([0, 0, 800])
"""Other queues in the same scrape: among 800 the window is 10 jobs long and 5 hashes are read of each list."""

# A second to either side of now is left out: there a clock that goes on between plant, oracle and reader decides.
AGES = st.integers(2000, 5 * HOUR)
PRIORITIES = st.integers(1, 2**21 - 1)
BACKOFFS = st.sampled_from([0, 500, HOUR])


def fifo_jobs() -> st.SearchStrategy[list[Job]]:
    """Jobs of one producer, newest first."""
    return st.lists(AGES, max_size=40).map(lambda ages: [Job(age=age) for age in sorted(ages)])


def paused_lists() -> st.SearchStrategy[Planted]:
    """The layout of a paused queue up to BullMQ 5."""
    return st.builds(lambda jobs: Planted(wait=jobs, paused=True, paused_list=True), fifo_jobs())


@st.composite
def any_job(draw: st.DrawFn) -> Job:
    """A job with any past: fresh, delayed, retried after a back-off, stalled, with a custom strategy."""
    kind = draw(st.sampled_from(["fresh", "delayed", "early", "fixed", "exponential", "custom", "stalled"]))
    event(kind)
    age = draw(AGES)
    if kind == "fresh":
        return Job(age=age)
    if kind == "delayed":
        return Job(age=age, opts={"delay": draw(st.integers(0, age - 1000))})
    if kind == "early":
        return Job(age=age, opts={"delay": age + draw(st.integers(2000, HOUR))})
    attempts = draw(st.integers(1, 6))
    ran = draw(st.integers(0, age))
    backoff = draw(BACKOFFS)
    field = draw(st.sampled_from(["atm", "attemptsMade"]))
    if kind == "stalled":
        opts: dict[str, object] = {"backoff": {"type": "fixed", "delay": backoff}}
        return Job(age=age, ran=ran, stalls=1, attempts=attempts - 1, attempts_field=field, opts=opts)
    return Job(
        age=age,
        ran=max(ran, backoff * 2 ** (attempts - 1) + 2000) if kind != "custom" else ran,
        attempts=attempts,
        attempts_field=field,
        opts={"attempts": 9, "backoff": {"type": kind, "delay": backoff}},
    )


@st.composite
def any_queue(draw: st.DrawFn) -> Planted:
    """A queue in which jobs of every past lie in any order, at up to five priority levels."""
    legacy = draw(st.booleans())
    return Planted(
        wait=draw(st.lists(any_job(), max_size=50)),
        levels=draw(st.dictionaries(PRIORITIES, st.lists(any_job(), min_size=1, max_size=8), max_size=5)),
        active=[Job(age=HOUR, ran=draw(AGES)) for _ in range(draw(st.integers(0, 5)))],
        paused=legacy or draw(st.booleans()),
        paused_list=legacy,
    )


@pytest.fixture
def client(server: Server) -> Iterator[redis.Redis]:
    with server.client() as opened:
        yield opened


def look(server: Server, queue: str, *, others: int = 0, times: int = 1) -> QueueSnapshot:
    """Read one queue with a reader of its own, among so many others."""
    static = (queue, *(f"absent-{number}" for number in range(others)))
    target = TargetSettings(
        url=server.url, discovery=DiscoverySettings(enabled=False), queues=QueueSettings(static=static)
    )

    async def read() -> QueueSnapshot:
        reader = Reader(target, "test")
        try:
            for _ in range(times):
                snapshot = await reader.snapshot()
        finally:
            await reader.close()
        assert snapshot.trouble is None
        return next(each for each in snapshot.queues() if each.queue.name == queue)

    return asyncio.run(read())


def since(seen: QueueSnapshot) -> dict[str, int | None]:
    return {
        "waiting": seen.waiting_since.ms if seen.waiting_since else None,
        "prioritized": seen.prioritized_since.ms if seen.prioritized_since else None,
        "active": seen.active_since_ms,
    }


def expected(client: redis.Redis, queue: str) -> dict[str, int | None]:
    truth = oracle.read(client, queue).since_ms
    return {state: truth[state] for state in ("waiting", "prioritized", "active")}


@ON_A_SHARED_SERVER
@given(queue=any_queue(), times=st.integers(1, 2))
def test_oldest_job_of_any_queue_within_the_window_is_exact(
    server: Server, client: redis.Redis, queue: Planted, times: int
) -> None:
    name = next(NAMES)
    queue.plant(client, name)
    assert since(look(server, name, times=times)) == expected(client, name)


@IN_A_CROWD
@given(queue=st.builds(lambda jobs: Planted(wait=jobs), fifo_jobs()) | paused_lists(), among=CROWDS)
def test_fifo_is_exact_however_few_jobs_a_scrape_may_look_at(
    server: Server, client: redis.Redis, queue: Planted, among: int
) -> None:
    name = next(NAMES)
    queue.plant(client, name)
    assert since(look(server, name, others=among)) == expected(client, name)


@IN_A_CROWD
@given(levels=st.dictionaries(PRIORITIES, fifo_jobs().filter(bool), min_size=1, max_size=20), among=CROWDS)
def test_oldest_over_all_priority_levels_is_exact_beyond_the_window(
    server: Server, client: redis.Redis, levels: dict[int, list[Job]], among: int
) -> None:
    name = next(NAMES)
    arrived = {priority: list(reversed(jobs)) for priority, jobs in levels.items()}
    Planted(levels=arrived).plant(client, name)
    assert since(look(server, name, others=among)) == expected(client, name)


@IN_A_CROWD
@given(fifo=fifo_jobs(), lifo=st.lists(AGES, max_size=150).map(sorted), among=CROWDS)
def test_lifo_over_fifo_never_reads_older_than_the_truth(
    server: Server, client: redis.Redis, fifo: list[Job], lifo: list[int], among: int
) -> None:
    name = next(NAMES)
    pushed = [Job(age=age, opts={"lifo": True}) for age in reversed(lifo)]
    Planted(wait=[*fifo, *pushed]).plant(client, name)
    read, truth = since(look(server, name, others=among))["waiting"], expected(client, name)["waiting"]
    if truth is None:
        assert read is None
    else:
        assert read is not None
        assert read >= truth
        if not fifo:
            assert read == truth


def test_job_back_from_a_one_hour_back_off_is_seconds_old(server: Server, client: redis.Redis) -> None:
    backoff = {"attempts": 3, "backoff": {"type": "fixed", "delay": HOUR}}
    Planted(wait=[Job(age=3 * HOUR, ran=HOUR + 4000, attempts=1, opts=backoff)]).plant(client, "retried")
    ready = since(look(server, "retried"))["waiting"]
    assert ready is not None
    assert 4000 <= oracle.read(client, "retried").now_ms - ready < 6000


def test_job_buried_under_lifo_jobs_stays_the_oldest_once_it_was_seen(server: Server, client: redis.Redis) -> None:
    Planted(wait=[Job(age=age) for age in range(2000, 7000, 100)]).plant(client, "buried")
    target = TargetSettings(
        url=server.url,
        discovery=DiscoverySettings(enabled=False),
        queues=QueueSettings(static=("buried", *(f"absent-{number}" for number in range(800)))),
    )

    async def read_bury_read() -> list[int | None]:
        reader = Reader(target, "test")
        moments = []
        for _ in range(2):
            (server_seen,) = (await reader.snapshot()).servers
            moments.append(since(server_seen.queues[0])["waiting"])
            for number in range(100):
                client.hset(f"bull:buried:l{number}", mapping=Job(age=0).fields(oracle.read(client, "buried").now_ms))
                client.rpush("bull:buried:wait", f"l{number}")
        client.hset("bull:buried:1", "processedOn", "1")  # the witness has run: it proves nothing any more
        (server_seen,) = (await reader.snapshot()).servers
        moments.append(since(server_seen.queues[0])["waiting"])
        await reader.close()
        return moments

    first, buried, run = asyncio.run(read_bury_read())
    assert first == buried
    assert run is not None
    assert first is not None
    assert run > first
