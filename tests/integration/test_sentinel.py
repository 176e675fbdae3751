"""Sentinel: the primary (or a replica) is found through it, and followed when it changes."""

from __future__ import annotations

import contextlib
import json
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pytest
from rig.child import wait_until
from rig.log import up
from rig.plain import role, waiting, write_queue
from rig.scrape import exporting, once, parse
from rig.servers import TLS_KIND, ServerOptions, free_port, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.certificates import Certificates
    from rig.scrape import Exporter
    from rig.servers import Server

MASTER = "mymaster"
PASSWORD = "sesame"  # noqa: S105 - of throw-away servers
WRONG = "n0t-sesame"


class Group(NamedTuple):
    """A primary, its replica, and those who watch them."""

    primary: Server
    replica: Server
    sentinels: list[Server]


@contextlib.contextmanager
def watched(*sentinels: ServerOptions) -> Iterator[Group]:
    """A primary with a replica in sync, and Sentinels that know both."""
    with contextlib.ExitStack() as stack:
        primary = stack.enter_context(running())
        replica = stack.enter_context(running(options=ServerOptions(replica_of=primary)))
        with replica.client() as client:
            synced = lambda: client.info("replication")["master_link_status"] == "up"  # noqa: E731 - one expression
            wait_until(synced, "the replica to be in sync")
        group = Group(primary, replica, [stack.enter_context(_sentinel(primary, options)) for options in sentinels])
        for sentinel in group.sentinels:
            wait_until(partial(_knows_replica, sentinel), "Sentinel to know the replica", timeout=20)
        yield group


def _sentinel(primary: Server, options: ServerOptions) -> contextlib.AbstractContextManager[Server]:
    return running(options=ServerOptions(sentinel_of=primary, password=options.password))


def _knows_replica(sentinel: Server) -> bool:
    with sentinel.client() as client:
        replicas = client.sentinel_slaves(MASTER)
        return bool(replicas) and not replicas[0]["is_disconnected"] and replicas[0]["slave-repl-offset"] > 0


def _port_of_primary(sentinel: Server) -> int:
    with sentinel.client() as client:
        return int(client.sentinel_get_master_addr_by_name(MASTER)[1])


def _asking(*sentinels: str, master: str = MASTER) -> dict[str, object]:
    return {"url": "redis://ignored.invalid", "sentinel": list(sentinels), "sentinel-master": master}


def _flags(group: Group) -> tuple[str, ...]:
    (sentinel,) = group.sentinels
    return ("--redis.sentinel", sentinel.address, "--redis.sentinel-master", MASTER)


@pytest.fixture(scope="module")
def group() -> Iterator[Group]:
    with watched(ServerOptions(), ServerOptions(password=PASSWORD)) as group:
        with group.primary.client() as client:
            write_queue(client, "mail", waiting=4)
        with group.replica.client() as client:
            wait_until(lambda: client.llen("bull:mail:wait") == 4, "the replica to follow")
        yield group


@pytest.fixture(scope="module")
def exporter(group: Group, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exporter]:
    """An exporter that asks in many ways, each a target."""
    open_one, guarded = (sentinel.address for sentinel in group.sentinels)
    dead, dead_too = (f"127.0.0.1:{free_port()}" for _ in range(2))
    targets: dict[str, dict[str, object]] = {
        "primary": _asking(open_one),
        "first-is-dead": _asking(dead, open_one),
        "first-knows-another": _asking(guarded, open_one),
        "replica": {**_asking(open_one), "read-from": "replica"},
        "password": {**_asking(guarded), "sentinel-password": PASSWORD},
        "wrong-password": {**_asking(guarded), "sentinel-password": WRONG},
        "unknown-master": _asking(open_one, master="nobodys"),
        "all-dead": _asking(dead, dead_too),
    }
    settings = tmp_path_factory.mktemp("sentinel") / "settings.yml"
    settings.write_text(json.dumps({"targets": {alias: {"redis": redis} for alias, redis in targets.items()}}))
    with exporting("--config.file", str(settings), ready=False) as exporter:
        yield exporter


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        ("primary", "master"),
        ("first-is-dead", "master"),
        ("first-knows-another", "master"),
        ("password", "master"),
        ("replica", "slave"),
    ],
)
def test_the_server_is_found(exporter: Exporter, alias: str, expected: str) -> None:
    path = f"/scrape?target={alias}"
    wait_until(lambda: bool(waiting(exporter.samples(path))), f"{alias} to show its queue")

    samples = exporter.samples(path)
    workers = {name for name, _ in samples if name == "bullmq_queue_workers"}
    assert (up(samples), role(samples), waiting(samples)) == (1, expected, {"bull:mail": 4})
    assert workers == ({"bullmq_queue_workers"} if expected == "master" else set())


@pytest.mark.parametrize(
    ("alias", "reason", "words"),
    [
        ("unknown-master", "not_ready", ("nobodys", "redis.sentinel-master")),
        ("wrong-password", "refused", ("Sentinel", "invalid username-password pair")),
        ("all-dead", "unreachable", ("Sentinel", "127.0.0.1:")),
    ],
)
def test_what_is_wrong_is_told(exporter: Exporter, alias: str, reason: str, words: tuple[str, ...]) -> None:
    samples = exporter.samples(f"/scrape?target={alias}")

    log = exporter.child.log()
    (line,) = [line for line in log.splitlines() if f"target={alias} " in line and "redis cannot be read" in line]
    assert up(samples) == 0
    assert f"reason={reason} " in line
    assert [word for word in words if word not in line] == []
    assert "object at" not in line
    assert WRONG not in log


def test_the_death_of_the_primary_is_followed() -> None:
    with watched(ServerOptions()) as group:
        (sentinel,) = group.sentinels
        with group.primary.client() as client:
            write_queue(client, "old", waiting=2)
        with group.replica.client() as client:
            wait_until(lambda: client.llen("bull:old:wait") == 2, "the replica to follow")
        with exporting(*_flags(group), "--discovery.interval", "500ms") as exporter:
            assert waiting(exporter.samples()) == {"bull:old": 2}

            group.primary.kill()
            assert up(exporter.samples()) == 0
            wait_until(lambda: _port_of_primary(sentinel) == group.replica.port, "the failover", timeout=20)
            with group.replica.client() as client:
                wait_until(lambda: client.role()[0] == b"master", "the replica to be promoted")
                write_queue(client, "old")
                write_queue(client, "new", waiting=3)

            seen = [up(exporter.samples()) for _ in range(2)]
            assert seen[-1] == 1, "two scrapes are enough"
            both = {"bull:old": 3, "bull:new": 3}
            wait_until(lambda: waiting(exporter.samples()) == both, "discovery to follow as well", timeout=5)

            sentinel.kill()
            assert up(exporter.samples()) == 1, "a connection that stands needs no Sentinel"


def test_a_demoted_primary_is_left() -> None:
    with watched(ServerOptions()) as group, exporting(*_flags(group)) as exporter:
        (sentinel,) = group.sentinels
        assert role(exporter.samples()) == "master"

        with sentinel.client() as client:
            client.sentinel_failover(MASTER)
        wait_until(lambda: _port_of_primary(sentinel) == group.replica.port, "the failover", timeout=20)
        with group.primary.client() as old:
            # Sentinel does so as well, after ten seconds, and cuts the connections; so it must be noticed by the role.
            old.replicaof("127.0.0.1", group.replica.port)

        first, second = exporter.samples(), exporter.samples()
        assert [up(first), up(second)] == [1, 1]
        assert role(second) == "master"


def test_a_sentinel_that_speaks_tls(group: Group, certificates: Certificates) -> None:
    options = ServerOptions(sentinel_of=group.primary, certificates=certificates)
    with running(TLS_KIND, options) as sentinel:
        flags = ("--redis.sentinel", sentinel.address, "--redis.sentinel-master", MASTER)
        trust = ("--redis.tls-ca-cert-file", str(certificates.ca_certificate))
        trusting = once("redis://ignored.invalid", *flags, "--redis.sentinel-tls", *trust)
        plain = once("redis://ignored.invalid", *flags)

    assert waiting(parse(trusting.text)) == {"bull:mail": 4}
    assert (plain.code, up(parse(plain.text))) == (1, 0)
    assert "TLS" in plain.errors
