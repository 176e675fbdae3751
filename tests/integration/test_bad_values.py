"""Values that no BullMQ wrote: they read as unknown, the rest of the queue and all other queues as ever."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.log import failed_collectors, logged, of_queue, scrape, up
from rig.scrape import exporting, key
from rig.servers import running
from rig.specimen import job_hash, plant

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.scrape import Exporter, Samples
    from rig.servers import Server

NUMBERS: dict[str, bytes] = {
    "word": b"abc",
    "nan": b"nan",
    "inf": b"inf",
    "minus inf": b"-inf",
    "1e400": b"1e400",
    "1e308": b"1e308",
    "negative": b"-5",
    "5000 digits": b"9" * 5000,
    "400 digits": b"9" * 400,
    "21 digits": b"9" * 21,
    "nothing": b"",
    "no UTF-8": b"\xff\x00\xfe",
    "hexadecimal": b"0x10",
}
OPTS: dict[str, bytes] = {
    "no JSON": b"{",
    "no UTF-8": b"\xff\xfe\x00",
    "deep list": b"[" * 10_000,
    "deep objects": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "deep type": b'{"backoff":{"delay":1,"type":' + b"[" * 970 + b"]" * 970 + b"}}",
    "number": b"7",
    "list": b"[]",
    "null": b"null",
    "string": b'"x"',
    "megabytes": b'{"a":"' + b"x" * 10_000_000 + b'"}',
    "400 digits": b'{"delay":' + b"9" * 400 + b"}",
    "5000 digits": b'{"delay":' + b"9" * 5000 + b"}",
}
DELAYS: tuple[object, ...] = ("soon", -1, 1e308, 10**300, True, None, [], {}, float("nan"), float("inf"))
BACKOFFS: tuple[object, ...] = (
    "x", -5, 1e308, 10**300, True, None, [], [1], {}, {"type": 5}, {"type": None, "delay": "x"},
    {"type": "exponential", "delay": 1e308}, {"type": "exponential", "delay": -1}, {"type": "fixed", "delay": []},
    {"type": "fixed", "delay": 1000, "jitter": "x"}, {"type": "exponential", "delay": 1000, "jitter": 1e9},
)  # fmt: skip
SCORES = ("inf", "-inf", 2.0**60, -(2.0**60), 1.7e308, -1.0)
SETS = ("prioritized", "delayed", "waiting-children", "completed", "failed", "repeat")
PLACES = ("2", "4", "7")
"""A job of `wait`, of `prioritized` and of `active`."""


@pytest.fixture(scope="module")
def home() -> Iterator[Server]:
    with running() as server, server.client() as client:
        plant(client, "odd")
        plant(client, "well")
        yield server


@pytest.fixture(scope="module")
def exporter(home: Server) -> Iterator[Exporter]:
    with exporting("--redis.url", home.url) as started:
        yield started


@pytest.fixture(scope="module")
def unfollowing(home: Server) -> Iterator[Exporter]:
    with exporting("--redis.url", home.url, "--no-follow.enabled") as started:
        yield started


@pytest.fixture
def client(home: Server) -> Iterator[redis.Redis]:
    """A client; afterwards the queue is as it was, whatever the test has done to it."""
    with home.client() as connected:
        yield connected
        connected.delete(*connected.keys("bull:odd:*"))
        plant(connected, "odd")


def read(exporter: Exporter) -> Samples:
    """One scrape in which all went well, and the healthy queue is as it is."""
    samples = scrape(exporter)
    assert up(samples) == 1
    assert failed_collectors(samples) == set()
    assert len([series for series in of_queue(samples, "well") if series[0] == "bullmq_queue_jobs"]) == 8
    assert samples[key("bullmq_queue_jobs", prefix="bull", queue="well", state="waiting")] == 2
    assert not logged(exporter, "level=error")
    ages = [age for (name, labels), age in samples.items() if ("queue", "odd") in labels and "age_seconds" in name]
    assert max(ages, default=0) < 1e11
    return samples


def value(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get(key(name, prefix="bull", queue="odd", **labels))


@pytest.mark.parametrize("junk", NUMBERS.values(), ids=NUMBERS)
def test_times_and_numbers_of_a_job(exporter: Exporter, client: redis.Redis, junk: bytes) -> None:
    for job in ("1", "4", "7"):
        for field in ("timestamp", "processedOn", "atm", "attemptsMade", "delay", "priority"):
            client.hset(f"bull:odd:{job}", field, junk)
    client.lrem("bull:odd:wait", 0, "2")  # the one that an event speaks of
    client.delete("bull:odd:2", "bull:odd:paused")

    samples = read(exporter)

    assert value(samples, "bullmq_queue_jobs", state="waiting") == 1
    for state in ("waiting", "prioritized", "active"):
        assert value(samples, "bullmq_queue_oldest_job_age_seconds", state=state) is None


@pytest.mark.parametrize("junk", NUMBERS.values(), ids=NUMBERS)
def test_numbers_of_a_queue(exporter: Exporter, unfollowing: Exporter, client: redis.Redis, junk: bytes) -> None:
    fields = ("opts.maxLenEvents", "version", "concurrency", "max", "duration")
    client.hset("bull:odd:meta", mapping=dict.fromkeys(fields, junk))
    client.hset("bull:odd:metrics:completed", "count", junk)
    client.hset("bull:odd:metrics:failed", "count", junk)
    client.set("bull:odd:id", junk)
    client.set("bull:odd:limiter", junk, px=60_000)

    samples = read(exporter)

    assert value(samples, "bullmq_queue_add_attempts_total") is None
    for name in ("bullmq_jobs_completed_total", "bullmq_jobs_failed_total"):
        assert value(samples, name) == 0  # no event tells of any
        assert value(unfollowing.samples(), name) is None  # and what the workers have counted is junk
    assert value(samples, "bullmq_queue_concurrency_limit") == (0 if junk == b"-5" else None)
    # BullMQ itself takes -5 of at most -5 for a limit that is reached.
    assert bool(value(samples, "bullmq_queue_rate_limited_seconds")) == (junk == b"-5")


@pytest.mark.parametrize("opts", OPTS.values(), ids=OPTS)
def test_options_that_are_none(exporter: Exporter, client: redis.Redis, opts: bytes) -> None:
    for job in PLACES:
        client.hset(f"bull:odd:{job}", mapping={"opts": opts, "atm": 1})

    samples = read(exporter)

    assert value(samples, "bullmq_queue_oldest_job_age_seconds", state="waiting") is not None


def test_delays_and_backoffs_of_every_type(exporter: Exporter, client: redis.Redis) -> None:
    odd = [*({"delay": delay} for delay in DELAYS), *({"backoff": backoff} for backoff in BACKOFFS)]
    for job, opts in enumerate(odd, start=100):
        client.hset(f"bull:odd:{job}", mapping=job_hash(1, opts=json.dumps(opts), atm=70, processedOn=2))
        client.rpush("bull:odd:wait", job)

    samples = read(exporter)

    assert value(samples, "bullmq_queue_jobs", state="waiting") == 2 + len(odd)
    assert (value(samples, "bullmq_queue_oldest_job_age_seconds", state="waiting") or 0) > 1e9


@pytest.mark.parametrize("name", SETS)
def test_scores(exporter: Exporter, client: redis.Redis, name: str) -> None:
    client.zadd(f"bull:odd:{name}", {f"job {score}": score for score in SCORES})

    samples = read(exporter)

    counted = "bullmq_job_schedulers" if name == "repeat" else "bullmq_queue_jobs"
    assert value(samples, counted, **({} if name == "repeat" else {"state": name})) == 1 + len(SCORES)
    client.zrem(f"bull:odd:{name}", "5", "4", "6", "8", "9", "hourly")
    assert read(exporter)


def test_schedulers_whose_names_read_the_same(exporter: Exporter, client: redis.Redis) -> None:
    client.zadd("bull:odd:repeat", {b"\xff": 1, rb"\xff": 2, b"a\nb\x00": 3, b'"': 4})

    samples = read(exporter)

    shown = {dict(labels)["scheduler"] for name, labels in samples if "next_run" in name and ("queue", "odd") in labels}
    assert shown == {r"\xff", "a\nb\x00", '"', "hourly"}


def test_a_rate_limit_that_never_ends(exporter: Exporter, client: redis.Redis) -> None:
    client.set("bull:odd:limiter", 2**53 - 1)

    assert value(read(exporter), "bullmq_queue_rate_limited_seconds") == 0


def test_events_with_odd_fields(exporter: Exporter, client: redis.Redis) -> None:
    for fields in ({b"\xff": b""}, {b"event": b"waiting"}, {b"event": b"waiting", b"jobId": b"\x00"}, {b"jobId": b"2"}):
        client.xadd("bull:odd:events", fields)  # type: ignore[arg-type]  # its stub is narrower than Redis
    client.xadd("bull:odd:events", {"event": "waiting", "jobId": "2"}, id=f"{2**64 - 1}-{2**64 - 1}")

    samples = read(exporter)

    assert value(samples, "bullmq_queue_oldest_job_age_seconds", state="waiting") is not None
    assert value(samples, "bullmq_queue_events_retained") == 6


def test_ten_megabytes(exporter: Exporter, client: redis.Redis) -> None:
    large = b"x" * 10_000_000
    client.hset("bull:odd:2", "data", large)
    client.xadd("bull:odd:events", {"event": "completed", "jobId": "8", "returnvalue": large})

    assert value(read(exporter), "bullmq_job_data_bytes") == len(large)


def test_ids_of_a_hundred_kilobytes(exporter: Exporter, client: redis.Redis) -> None:
    for number in range(20):
        job = b"%d" % number + b"i" * 100_000
        client.lpush("bull:odd:wait", job)
        client.lpush("bull:odd:active", job)
        client.zadd("bull:odd:prioritized", {job: 2**33})
        client.hset(b"bull:odd:" + job, mapping=job_hash(1, processedOn=2))
    client.set(b"bull:odd:19" + b"i" * 100_000 + b":lock", "token")

    assert value(read(exporter), "bullmq_queue_jobs", state="active") == 21

    client.delete(b"bull:odd:19" + b"i" * 100_000)
    client.set(b"bull:odd:19" + b"i" * 100_000, "no hash")
    scrape(exporter)
    wait_until(lambda: bool(logged(exporter, "WRONGTYPE")), "the problem to be told")
    assert max(map(len, logged(exporter, "WRONGTYPE"))) < 1000
