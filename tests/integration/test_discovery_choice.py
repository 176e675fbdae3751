"""Which of the queues in a Redis are watched, and what only looks like one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.log import logged, up
from rig.plain import waiting, write_queue
from rig.scrape import exporting, key, once, parse
from rig.servers import ServerOptions, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.scrape import Exporter
    from rig.servers import Server

QUEUES = {
    "bull:mail": 1,
    "bull:mail-eu": 2,
    "bull:sms": 3,
    "a:b:mail": 4,
    "{bull}:mail": 5,
    "bull:naïve queue": 6,
    ":mail": 7,
}
"""Waiting jobs by queue; the last one's prefix is empty."""

CHOICES: dict[str, tuple[dict[str, object], set[str]]] = {
    "all": ({}, set(QUEUES)),
    "include-names": (
        {"queues": {"include": ["mail*"]}},
        {"bull:mail", "bull:mail-eu", "a:b:mail", "{bull}:mail", ":mail"},
    ),
    "include-with-prefix": ({"queues": {"include": ["bull:*"]}}, {name for name in QUEUES if name.startswith("bull:")}),
    "exclude": ({"queues": {"exclude": ["mail", "s?s"]}}, {"bull:mail-eu", "bull:naïve queue"}),
    "include-and-exclude": (
        {"queues": {"include": ["*mail*"], "exclude": ["*:*:*", "{*", "*-eu", ":*"]}},
        {"bull:mail"},
    ),
    "prefix": ({"discovery": {"prefix": ["a:b"]}}, {"a:b:mail"}),
    "prefixes": ({"discovery": {"prefix": ["{bull}", "a:b"]}}, {"{bull}:mail", "a:b:mail"}),
    "empty-prefix": ({"queues": {"include": [":*"]}}, {":mail"}),
    "half-a-prefix": ({"discovery": {"prefix": ["bul"]}}, set()),
    "static-only": (
        {"discovery": {"enabled": False}, "queues": {"static": ["sms", "a:b:mail", "bull:ghost"]}},
        {"bull:sms", "a:b:mail", "bull:ghost"},
    ),
    "static-too": (
        {"queues": {"static": ["ghost", "{bull}:mail"], "include": ["sms"]}},
        {"bull:ghost", "{bull}:mail", "bull:sms"},
    ),
}


def write_name(client: redis.Redis, name: str, jobs: int) -> None:
    prefix, _, queue = name.rpartition(":")
    write_queue(client, queue, prefix=prefix, waiting=jobs)


@pytest.fixture(scope="module")
def chooser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exporter]:
    """An exporter with a target for each choice of queues."""
    with running() as server:
        with server.client() as client:
            for name, jobs in QUEUES.items():
                write_name(client, name, jobs)
        targets: dict[str, object] = {
            alias: {"redis": {"url": server.url}, **settings} for alias, (settings, _) in CHOICES.items()
        }
        settings = tmp_path_factory.mktemp("discovery") / "settings.yml"
        settings.write_text(json.dumps({"targets": targets, "discovery": {"interval": "500ms"}}), encoding="utf-8")
        with exporting("--config.file", str(settings), ready=False) as exporter:
            yield exporter


@pytest.mark.parametrize("alias", CHOICES)
def test_which_queues_are_watched(chooser: Exporter, alias: str) -> None:
    _, expected = CHOICES[alias]
    first_pass = key("bullmq_discovery_duration_seconds")

    def searched() -> bool:
        samples = chooser.samples(f"/scrape?target={alias}")
        return first_pass in samples or alias == "static-only"

    wait_until(searched, "the first search to be complete")
    samples = chooser.samples(f"/scrape?target={alias}")
    assert waiting(samples) == {name: QUEUES.get(name, 0) for name in expected}
    assert samples[key("bullmq_queues")] == len(expected)


def test_a_static_queue_that_does_not_exist_is_all_zeros(chooser: Exporter) -> None:
    samples = chooser.samples("/scrape?target=static-only")
    ghost = {("prefix", "bull"), ("queue", "ghost")}
    jobs = [value for (name, labels), value in samples.items() if name == "bullmq_queue_jobs" and ghost < labels]

    assert jobs == [0] * 8


def test_a_user_who_may_not_search_is_told_so_once() -> None:
    blind = ServerOptions(users=("blind on >look ~* +@all -scan",))
    flags = ("--queues.static", "sms", "--discovery.interval", "200ms", "--log.level", "debug")
    with running(options=blind) as server, server.client() as client:
        write_queue(client, "sms", waiting=3)
        with exporting("--redis.url", f"redis://blind:look@{server.address}", *flags, ready=False) as exporter:
            wait_until(lambda: len(logged(exporter, "queue discovery failed")) > 2, "several searches to be refused")
            samples = exporter.samples()
            lines = logged(exporter, "queue discovery failed")

    assert (up(samples), waiting(samples)) == (1, {"bull:sms": 3})
    assert ["scan" in line for line in lines] == [True] * len(lines)
    assert ["level=warning" in line for line in lines] == [True] + [False] * (len(lines) - 1)


def test_what_is_no_bullmq_queue_is_not_shown(server: Server, redis_client: redis.Redis) -> None:
    write_queue(redis_client, "mail")
    write_bull_4(redis_client, "old")
    write_relay(redis_client)
    for stray in ("id", ":id", "bull:id", "bull::id", "user:1:meta", "shop:cart:id", "x:meta"):
        redis_client.set(stray, "1")
    redis_client.hset("site:page:meta", mapping={"title": "x"})

    done = once(server.url, "--queues.static", "mail")
    assert waiting(parse(done.text)) == {"bull:mail": 1}
    assert done.errors == ""


def write_bull_4(client: redis.Redis, queue: str) -> None:
    """A queue of the older library, paused and with a delayed job and a repeatable one."""
    base = f"bull:{queue}:"
    client.set(f"{base}id", 3)
    client.lpush(f"{base}wait", 1, 2)
    client.zadd(f"{base}priority", {"1": 1})
    client.zadd(f"{base}delayed", {"3": 1796035293012 * 4096})
    client.zadd(f"{base}repeat", {"name:::1000": 1796035293012})
    client.set(f"{base}meta-paused", 1)
    client.hset(f"{base}meta", mapping={"paused": "1"})
    for job in (1, 2, 3):
        client.hset(f"{base}{job}", mapping={"name": "__default__", "data": "{}", "opts": "{}", "timestamp": "1"})


def write_relay(client: redis.Redis) -> None:
    """Keys of the relay feature, whose queue segment is empty."""
    client.sadd("bull::relay:namespaces", "chat")
    client.hset("bull::relay:chat:layout", mapping={"version": "1"})
    client.set("bull::relay:chat:mid", 7)
    client.rpush("bull::relay:chat:7:inbox", "x")
    client.set("bull::relay:chat:id", 7)
    client.hset("bull::relay:chat:meta", mapping={"opts.maxLenEvents": "10000"})
