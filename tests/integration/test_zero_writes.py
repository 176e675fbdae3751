"""The exporter never writes: a user who may only read is enough, nothing is sent but what is listed, no key changes."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
import redis
from rig.child import wait_until
from rig.cluster import cluster
from rig.log import failed_collectors, logged, scrape, up
from rig.programs import KINDS
from rig.scrape import exporting, key
from rig.servers import running
from rig.specimen import job_hash, plant

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rig.servers import Server

ACL = (
    "ACL SETUSER qobserve on >pw %R~bull:* resetchannels -@all +@read -@dangerous "
    "+select +readonly +client|setname +client|list +info +time +cluster|slots"
)
"""The line that the README gives; before Redis 7 there is no `%R`."""

SENT = {
    "AUTH", "CLIENT SETNAME", "CLIENT LIST", "SCAN", "TIME", "INFO", "LLEN", "LRANGE", "LINDEX", "ZCARD", "ZRANGE",
    "ZRANGEBYSCORE", "HMGET", "HGET", "HSTRLEN", "GET", "PTTL", "EXISTS", "XINFO STREAM", "XREAD", "XLEN", "MGET",
    "XREVRANGE", "XRANGE", "TYPE",
}  # fmt: skip
"""All that is ever sent to a single server in its first database."""

HIDDEN = {"CLIENT SETNAME", "CLIENT LIST"}
"""MONITOR leaves out what it takes for administration (so that it alone proves no absence of CONFIG: the ACL does)."""

REFUSED = (
    "SET bull:q:x 1", "DEL bull:q:wait", "HSET bull:q:meta paused 1", "LPUSH bull:q:wait 1", "XADD bull:q:events * a b",
    "EXPIRE bull:q:wait 1", "RENAME bull:q:wait bull:q:x", "FLUSHALL", "FLUSHDB", "CONFIG GET *", "CONFIG SET a b",
    "KEYS *", "EVAL return 0", "SHUTDOWN", "CLIENT KILL TYPE normal", "CLIENT PAUSE 1", "MONITOR", "ACL LIST", "SAVE",
    "PUBLISH a b", "SUBSCRIBE a", "REPLICAOF NO ONE", "GET other:key", "HGETALL foreign",
)  # fmt: skip


def allow(client: redis.Redis, server: Server) -> str:
    """Make the user exactly as told, and tell the URL with which it logs in."""
    line = ACL.replace("%R~", "~") if server.kind == "redis-6.2" else ACL
    client.execute_command(*line.split())
    return f"redis://qobserve:pw@{server.address}"


def plant_everything(client: redis.Redis) -> None:
    """Queues with each feature that makes the reader ask further."""
    plant(client, "q")
    plant(client, "unversioned", version=None)
    plant(client, "pro", version="bullmq-pro:7.48.0")
    client.zadd("bull:pro:groups", {"a": 1})
    plant(client, "deep")
    client.zadd("bull:deep:prioritized", {f"p{number}": number // 40 * 2**32 + number for number in range(1, 400)})
    for number in range(1, 400, 40):
        client.hset(f"bull:deep:p{number}", mapping=job_hash(1))
    client.hset("bull:q:meta", mapping={"concurrency": 5, "max": 3, "duration": 1000, "paused": 1})
    client.set("bull:q:limiter", 3, px=3_600_000)


def contents(client: redis.Redis) -> dict[bytes, bytes | None]:
    return {name: client.dump(name) for name in client.keys("*")}


@contextmanager
def monitored(server: Server) -> Iterator[set[str]]:
    """All commands that come over TCP, as verbs; complete once the block has ended."""
    verbs: set[str] = set()
    with server.client(socket_timeout=None) as watching, server.client() as admin, watching.monitor() as monitor:

        def listen() -> None:
            for told in monitor.listen():
                words = told["command"].split()
                if told["client_type"] == "unix" and words[:1] == ["ECHO"]:
                    return
                if told["client_type"] == "tcp":
                    first = words[0].upper()
                    verbs.add(f"{first} {words[1].upper()}" if first in {"CLIENT", "XINFO", "CLUSTER"} else first)

        listener = threading.Thread(target=listen)
        listener.start()
        try:
            yield verbs
        finally:
            admin.echo("the end")
            listener.join()


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_who_may_only_read_is_enough(kind: str, tmp_path: Path) -> None:
    with running(kind) as server, server.client() as client:
        plant_everything(client)
        client.set("foreign", 1)
        config = tmp_path / "qobserve.yml"
        settings = {"redis": {"url": allow(client, server)}, "discovery": {"interval": "1s"}}
        config.write_text(json.dumps(settings))  # JSON is YAML
        before = contents(client)
        with monitored(server) as sent, exporting("--config.file", str(config)) as exporter:
            for number in range(5):
                samples = scrape(exporter)
                assert up(samples) == 1
                assert failed_collectors(samples) == set()
                client.rpush("bull:q:wait", f"new {number}")
                client.hset(f"bull:q:new {number}", mapping=job_hash(1))
            assert samples[key("bullmq_queues")] == 4
            settings["discovery"]["interval"] = "2s"
            config.write_text(json.dumps(settings))
            assert httpx.post(f"{exporter.url}/-/reload").status_code == 200
            wait_until(lambda: scrape(exporter).get(key("bullmq_queues")) == 4, "the queues to be found again")
            assert not logged(exporter, "level=warning")
            assert not logged(exporter, "level=error")
            exporter.child.terminate()

        assert sent <= SENT
        assert SENT - sent <= HIDDEN
        assert client.execute_command("ACL", "LOG") == []
        for number in range(5):
            client.lrem("bull:q:wait", 0, f"new {number}")
            client.delete(f"bull:q:new {number}")
        assert contents(client) == before


@pytest.mark.parametrize("kind", KINDS)
def test_the_user_may_do_nothing_else(kind: str) -> None:
    with running(kind) as server, server.client() as client:
        plant(client, "q")
        allow(client, server)
        with server.client(username="qobserve", password="pw", single_connection_client=True) as user:  # noqa: S106 - the user of the line above
            assert user.llen("bull:q:wait") == 2
            for command in REFUSED:
                with pytest.raises(redis.exceptions.NoPermissionError):
                    user.execute_command(*command.split())


def test_the_line_is_enough_for_a_cluster() -> None:
    with cluster() as nodes:
        for node in nodes:
            with node.client() as client:
                client.execute_command(*ACL.replace("bull", "{bull}").split())
        with redis.RedisCluster(host="127.0.0.1", port=nodes[0].port) as client:
            for suffix, put in (("wait", client.lpush), ("active", client.lpush)):
                put(f"{{bull}}:q:{suffix}", 1)
            client.hset("{bull}:q:meta", mapping={"opts.maxLenEvents": 10_000})
        url = f"redis://qobserve:pw@{nodes[0].address}"
        with exporting("--redis.url", url, "--redis.cluster") as exporter:
            samples = scrape(exporter)

    assert up(samples) == 1
    assert failed_collectors(samples) == set()
    assert samples[key("bullmq_queue_jobs", prefix="{bull}", queue="q", state="waiting")] == 1
