"""Disposable Redis-compatible servers: real ones, each a child process on a free port, with nothing kept on disk."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from rig.child import Child, RigTimeoutError, wait_until
from rig.programs import program

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.certificates import Certificates

DEFAULT_KIND = "valkey-9"
TLS_KIND = "redis-7.0"
"""The one kind whose program is built with TLS: the wheels are not."""

_START_ATTEMPTS = 3
_CLUSTER_BUS_OFFSET = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a server is set up.

    Attributes:
        password: Of the default user; none when empty.
        users: ACL users as `ACL SETUSER` takes them, such as `qobserve on >secret ~* +@read`.
        certificates: With them the port speaks TLS only.
        client_certificate_required: Whether TLS clients must show a certificate.
        cluster: Cluster mode (a node owns no slot before rig.cluster gives it some).
        sentinel_of: Run as a Sentinel that watches this server under the name `mymaster`.
        replica_of: Run as a replica of this server.
        config: Further lines of its configuration file.
    """

    password: str = ""
    users: tuple[str, ...] = ()
    certificates: Certificates | None = None
    client_certificate_required: bool = False
    cluster: bool = False
    sentinel_of: Server | None = None
    replica_of: Server | None = None
    config: tuple[str, ...] = ()


PLAIN = ServerOptions()


class Server:
    """One server; `start` may be called again after `kill`, and takes the same port."""

    def __init__(self, kind: str, options: ServerOptions) -> None:
        self.kind = kind
        self.options = options
        self.directory = Path(tempfile.mkdtemp(prefix="qobserve-"))
        self.port = free_port()
        self._child: Child | None = None

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._child is not None
        return self._child.pid

    @property
    def socket_path(self) -> Path:
        """Its unix socket."""
        return self.directory / "redis.sock"

    @property
    def address(self) -> str:
        """`host:port`."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """A URL that connects as the default user."""
        scheme = "rediss" if self.options.certificates else "redis"
        login = f":{quote(self.options.password, safe='')}@" if self.options.password else ""
        return f"{scheme}://{login}{self.address}/0"

    def client(self, **options: object) -> redis.Redis:
        """A synchronous client as the default user, through the unix socket, that tries once; close it."""
        settings: dict[str, object] = {
            "password": self.options.password or None,
            "socket_timeout": 5,
            "retry": Retry(NoBackoff(), 0),
            **options,
        }
        return redis.Redis(unix_socket_path=str(self.socket_path), **settings)  # type: ignore[arg-type]

    def start(self, timeout: float = 10.0) -> None:
        """Start it and wait until it is certain that the port is this child's.

        Raises:
            RigTimeoutError: It did not answer in time, or ended at once; the message carries its log.
        """
        path = self.directory / "redis.conf"
        path.write_text("\n".join(self._config()) + "\n", encoding="utf-8")
        argv = [str(program(self.kind)), str(path), *(["--sentinel"] if self.options.sentinel_of else [])]
        child = self._child = Child(argv, cwd=self.directory)
        try:
            wait_until(lambda: not child.running or self._answers(), f"{self.kind} to answer", timeout=timeout)
        except RigTimeoutError as exc:
            exc.add_note(child.log())
            child.kill()
            raise
        if not child.running:
            log = child.log()
            child.kill()
            raise RigTimeoutError(f"{self.kind} ended at once: {log}")

    def kill(self) -> None:
        """End it at once (SIGKILL); what it held is gone."""
        if self._child is not None:
            self._child.kill()

    def freeze(self) -> None:
        """Stop its process (SIGSTOP): connections stay, answers do not come."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen one go on."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its folder."""
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _answers(self) -> bool:
        """PING is answered, and the one who answers is our child on both the socket and the port."""
        with contextlib.suppress(redis.ConnectionError, redis.TimeoutError, OSError):
            with self.client(socket_timeout=1) as client:
                client.ping()
                info = client.info("server")
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return bool(info["run_id"]) and info["process_id"] == self.pid
        return False

    def _config(self) -> Iterator[str]:
        options = self.options
        yield f'dir "{self.directory}"'
        yield f'unixsocket "{self.socket_path}"'
        yield "bind 127.0.0.1"
        if options.sentinel_of is not None:
            yield f"sentinel monitor mymaster 127.0.0.1 {options.sentinel_of.port} 1"
            yield "sentinel down-after-milliseconds mymaster 500"
            yield "sentinel failover-timeout mymaster 2000"
        else:
            yield from ('save ""', "appendonly no", "repl-diskless-sync-delay 0")
        yield from self._port_lines()
        if options.password:
            yield f'requirepass "{options.password}"'
        for user in options.users:
            yield f"user {user}"
        if options.cluster:
            yield from ("cluster-enabled yes", "cluster-node-timeout 2000", "cluster-require-full-coverage no")
        if options.replica_of is not None:
            yield f"replicaof 127.0.0.1 {options.replica_of.port}"
        yield from options.config

    def _port_lines(self) -> Iterator[str]:
        files = self.options.certificates
        if files is None:
            yield f"port {self.port}"
            return
        yield from ("port 0", f"tls-port {self.port}")
        yield f'tls-cert-file "{files.server_certificate}"'
        yield f'tls-key-file "{files.server_key}"'
        yield f'tls-ca-cert-file "{files.ca_certificate}"'
        yield f"tls-auth-clients {'yes' if self.options.client_certificate_required else 'no'}"


@contextlib.contextmanager
def running(kind: str = DEFAULT_KIND, options: ServerOptions = PLAIN) -> Iterator[Server]:
    """A server for the length of a `with` block; a kind that is not installed skips the test, or fails it in CI."""
    server = start(kind, options)
    try:
        yield server
    finally:
        server.close()


def start(kind: str = DEFAULT_KIND, options: ServerOptions = PLAIN) -> Server:
    """Start a server, on another port where somebody was faster; the caller closes it."""
    program(kind)
    for attempt in range(1, _START_ATTEMPTS + 1):
        server = Server(kind, options)
        try:
            server.start()
        except RigTimeoutError as exc:
            server.close()
            if attempt == _START_ATTEMPTS or "in use" not in str(exc):
                raise
        except BaseException:
            server.close()
            raise
        else:
            return server
    pytest.fail("unreachable: the last attempt returns or raises")


def free_port() -> int:
    """A port that is free now, low enough that a cluster node's bus port (10,000 above) exists."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port + _CLUSTER_BUS_OFFSET < 2**16:
            return port
