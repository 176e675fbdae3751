"""The rig's servers are what they say, and say so when they are not."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import redis

from rig import programs
from rig.child import Child, RigTimeoutError, wait_until
from rig.cluster import cluster
from rig.servers import DEFAULT_KIND, TLS_KIND, Server, ServerOptions, running

if TYPE_CHECKING:
    from rig.certificates import Certificates

VERSIONS = {"redis-6.2": "6.2.", "redis-7.0": "7.0.", "redis-8.2": "8.2.", "valkey-9": "9."}


def test_each_kind_is_its_version_and_its_own_process(any_server: Server) -> None:
    with redis.Redis.from_url(any_server.url) as client:
        facts = client.info("server")

    assert facts.get("valkey_version", facts["redis_version"]).startswith(VERSIONS[any_server.kind])
    assert facts["process_id"] == any_server.pid


def test_a_server_is_empty_for_each_test(redis_client: redis.Redis) -> None:
    assert redis_client.dbsize() == 0

    redis_client.set("left", "behind")


def test_a_server_is_empty_for_each_test_again(redis_client: redis.Redis) -> None:
    assert redis_client.dbsize() == 0

    redis_client.set("left", "behind")


def test_password_and_users() -> None:
    options = ServerOptions(password="s3 cret", users=("reader on >look ~bull:* +@read",))  # noqa: S106 - of a throw-away server
    with running(options=options) as server:
        with server.client(password=None) as nobody, pytest.raises(redis.AuthenticationError):
            nobody.ping()
        with redis.Redis.from_url(server.url) as owner:
            assert owner.set("bull:x", 1)
        with server.client(username="reader", password="look") as reader:  # noqa: S106 - likewise
            assert reader.get("bull:x") == b"1"
            with pytest.raises(redis.exceptions.NoPermissionError):
                reader.set("bull:x", 2)


def test_tls_with_client_certificates(certificates: Certificates) -> None:
    options = ServerOptions(certificates=certificates, client_certificate_required=True)
    trust = {"ssl_ca_certs": str(certificates.ca_certificate)}
    own = {"ssl_certfile": str(certificates.client_certificate), "ssl_keyfile": str(certificates.client_key)}
    with running(TLS_KIND, options) as server:
        with redis.Redis.from_url(server.url, **trust, **own) as client:
            assert client.ping()
        with redis.Redis.from_url(server.url, **trust) as stranger, pytest.raises(redis.ConnectionError):
            stranger.ping()


def test_the_same_port_after_a_crash(redis_client: redis.Redis) -> None:
    with running() as server:
        port = server.port
        server.kill()
        server.start()

        with redis.Redis(port=port) as client:
            assert client.info("server")["process_id"] == server.pid != redis_client.info("server")["process_id"]


def test_a_frozen_server_does_not_answer() -> None:
    with running() as server, server.client(socket_timeout=0.2) as client:
        client.ping()
        server.freeze()
        with pytest.raises(redis.TimeoutError):
            client.ping()
        server.thaw()

        assert client.ping()


def test_replica_and_sentinel() -> None:
    with (
        running() as primary,
        running(options=ServerOptions(replica_of=primary)) as replica,
        primary.client() as client,
    ):
        client.set("a", 1)
        with replica.client() as copy:
            wait_until(lambda: copy.get("a") == b"1", "the replica to have the key")
        with running(options=ServerOptions(sentinel_of=primary)) as sentinel:
            with sentinel.client(decode_responses=True) as watcher:
                found = watcher.execute_command("SENTINEL GET-MASTER-ADDR-BY-NAME", "mymaster")
            assert found == ("127.0.0.1", primary.port)


@pytest.mark.parametrize("kind", programs.KINDS)
def test_cluster(kind: str) -> None:
    with cluster(kind) as nodes, redis.RedisCluster(host="127.0.0.1", port=nodes[0].port) as client:
        for number in range(30):
            client.set(f"k{number}", 1)
        held = []
        for node in nodes:
            with node.client() as one:
                held.append(one.dbsize())

    assert sum(held) == 30
    assert min(held) > 0


def test_a_server_that_does_not_get_ready_is_an_error() -> None:
    server = Server(DEFAULT_KIND, ServerOptions(config=("port 0",)))
    try:
        with pytest.raises(RigTimeoutError, match=r"waited 0\.5 s in vain: valkey-9 to answer"):
            server.start(timeout=0.5)
    finally:
        server.close()


def test_a_server_that_ends_at_once_shows_its_log() -> None:
    with (
        pytest.raises(RigTimeoutError, match="FATAL CONFIG"),
        running(options=ServerOptions(config=("no-such thing",))),
    ):
        pass


def test_a_missing_program_skips_but_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(programs.PROGRAMS, "redis-1.0", ("v=1.0.", "a museum", lambda: None))

    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"redis-1\.0: it comes from a museum"):
        programs.program("redis-1.0")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"redis-1\.0: it comes from a museum"):
        programs.program("redis-1.0")


def test_a_program_of_another_version_is_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    real = programs.program(DEFAULT_KIND)
    monkeypatch.setitem(programs.PROGRAMS, "valkey-99", ("v=99.", "the future", lambda: real))
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception):
        programs.program("valkey-99")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's own")
def test_a_server_dies_with_the_process_that_started_it() -> None:
    code = "import sys, time; from rig.servers import start; print(start().pid, flush=True); time.sleep(60)"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert _lives(pid)
        parent.send_signal(signal.SIGKILL)

    wait_until(lambda: not _lives(pid), "the server to die")


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_child_that_ignores_sigterm_is_killed_and_named() -> None:
    child = Child(["sh", "-c", "trap '' TERM; echo ready >&2; while :; do sleep 0.1; done"])
    wait_until(lambda: "ready" in child.log(), "the child to be ready")

    with pytest.raises(RigTimeoutError, match=r"sh ignored SIGTERM for 0\.3 s"):
        child.terminate(timeout=0.3)
    assert not child.running


@pytest.mark.parametrize("kind", programs.KINDS)
def test_a_port_that_is_taken_is_named_as_the_reason(kind: str) -> None:
    programs.program(kind)
    server = Server(kind, ServerOptions())
    try:
        with socket.create_server(("127.0.0.1", server.port)), pytest.raises(RigTimeoutError, match="in use"):
            server.start()
    finally:
        server.close()
