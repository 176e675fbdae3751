"""The oracle, on hand-written keys: it must be right before anything is measured by it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rig import oracle

if TYPE_CHECKING:
    import redis

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("fields", "options", "expected"),
    [
        pytest.param({}, {}, NOW, id="plain"),
        pytest.param({}, {"delay": 5_000}, NOW + 5_000, id="delayed"),
        pytest.param({"delay": 0}, {"delay": 5_000}, NOW + 5_000, id="the hash's own delay is no help"),
        pytest.param({"processedOn": NOW + 10}, {}, NOW + 10, id="stalled"),
        pytest.param(
            {"processedOn": NOW + 10, "atm": 1}, {"backoff": {"type": "fixed", "delay": 7}}, NOW + 17, id="fixed"
        ),
        pytest.param(
            {"processedOn": NOW + 10, "atm": 3},
            {"backoff": {"type": "exponential", "delay": 7}},
            NOW + 38,
            id="exponential",
        ),
        pytest.param(
            {"processedOn": NOW + 10, "attemptsMade": 2},
            {"backoff": {"type": "exponential", "delay": 7}},
            NOW + 24,
            id="exponential up to 4.x",
        ),
        pytest.param(
            {"processedOn": NOW + 10, "atm": 1}, {"backoff": {"type": "mine", "delay": 7}}, NOW + 10, id="custom"
        ),
        pytest.param({"processedOn": NOW + 1}, {"delay": 5_000}, NOW + 5_000, id="the later of the two"),
    ],
)
def test_ready_at(fields: dict[str, int], options: dict[str, object], expected: int) -> None:
    job = {name.encode(): str(value).encode() for name, value in fields.items()}

    assert oracle.ready_at({b"timestamp": b"%d" % NOW, b"opts": json.dumps(options).encode(), **job}) == expected


def test_a_job_without_its_hash_has_no_moment() -> None:
    assert oracle.ready_at({}) is None


def test_a_queue_written_by_hand(redis_client: redis.Redis) -> None:
    put = redis_client
    put.hset("p:q:meta", mapping={"paused": 1, "version": "bullmq:4.18.3"})
    put.set("p:q:id", 9)
    put.rpush("p:q:wait", "0:1700000000000", "3")
    put.rpush("p:q:paused", "4", "5")
    put.rpush("p:q:active", "6", "0:0")
    put.zadd("p:q:delayed", {"7": (NOW + 50) * 4096 + 3, "8": (NOW + 60) * 4096})
    put.zadd("p:q:failed", {"9": NOW - 5, "10": NOW - 9})
    for job, timestamp in {"3": NOW, "4": NOW - 2_000, "5": NOW - 1_000}.items():
        put.hset(f"p:q:{job}", mapping={"timestamp": timestamp, "opts": "{}"})
    put.hset("p:q:6", mapping={"processedOn": NOW - 77})
    put.hset("p:q:metrics:completed", "count", 5)

    truth = oracle.read(redis_client, "q", prefix="p")

    assert truth.jobs == {
        "waiting": 1, "paused": 2, "active": 1, "prioritized": 0,
        "delayed": 2, "waiting-children": 0, "completed": 0, "failed": 2,
    }  # fmt: skip
    assert truth.since_ms == {
        "waiting": NOW - 2_000, "prioritized": None, "active": NOW - 77, "waiting-children": None, "failed": NOW - 9,
    }  # fmt: skip
    assert (truth.due_ms, truth.paused, truth.add_attempts, truth.version) == (NOW + 50, True, 9, "4.18.3")
    assert (truth.completed, truth.failed, truth.schedulers) == (5, None, 0)


def test_a_job_promoted_before_its_time_has_no_known_age(redis_client: redis.Redis) -> None:
    redis_client.rpush("bull:q:wait", "1")
    redis_client.hset("bull:q:1", mapping={"timestamp": NOW * 2, "opts": "{}"})

    truth = oracle.read(redis_client, "q")

    assert truth.age_seconds("waiting") is None
    assert truth.age_seconds("active") == 0


def test_queues_are_found_by_all_keys(redis_client: redis.Redis) -> None:
    redis_client.hset("a:b:c:meta", "opts.maxLenEvents", 10)
    redis_client.set("{bull}:日本:id", 1)
    redis_client.hset("bull:no:id", "a", "job called id")
    redis_client.rpush("bull:neither:wait", "1")

    assert oracle.queues(redis_client) == {("a:b", "c"), ("{bull}", "日本")}
