"""Stands between a client and Redis and notes what one asks the other, round trip by round trip."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import threading
from typing import TYPE_CHECKING, NamedTuple

import hiredis

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_QUIET_SECONDS = 0.2
"""A client that has sent nothing for so long has sent all, and waits."""

_CHUNK = 1 << 20


class Trip(NamedTuple):
    """What a client sends at once, and the number of replies that it waits for."""

    request: bytes
    replies: int


class Recorder:
    """Forwards one connection; replies are held back until the client is quiet, which sets round trips apart."""

    def __init__(self, port: int) -> None:
        self.trips: list[Trip] = []
        self._server_port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Wait for a client in the background."""
        self._thread.start()

    def close(self) -> None:
        """Stop; the client has closed its connection by now."""
        self._thread.join(timeout=5)
        self._listening.close()

    def _run(self) -> None:
        client, _ = self._listening.accept()
        with client, socket.create_connection(("127.0.0.1", self._server_port)) as server:
            while self._forward(client, server):
                pass

    def _forward(self, client: socket.socket, server: socket.socket) -> bool:
        """One round trip; False when the client is gone."""
        request, answer = bytearray(), bytearray()
        asked, answered = hiredis.Reader(), hiredis.Reader()
        commands = replies = 0
        while not commands or replies < commands or _readable(client):
            ready, _, _ = select.select([client, server], [], [])
            if client in ready:
                chunk = client.recv(_CHUNK)
                if not chunk:
                    return False
                request += chunk
                commands += _count(asked, chunk)
                server.sendall(chunk)
            if server in ready:
                chunk = server.recv(_CHUNK)
                answer += chunk
                replies += _count(answered, chunk)
        self.trips.append(Trip(bytes(request), commands))
        client.sendall(answer)
        return True


def commands_of(request: bytes) -> list[list[bytes]]:
    """The commands in a request."""
    reader = hiredis.Reader()
    reader.feed(request)
    commands: list[list[bytes]] = []
    while (command := reader.gets()) is not False:
        commands.append(command)
    return commands


@contextlib.asynccontextmanager
async def recording(port: int) -> AsyncIterator[Recorder]:
    """A recorder in front of a server for the length of a `with` block; its client must be closed inside."""
    recorder = Recorder(port)
    recorder.start()
    try:
        yield recorder
    finally:
        await asyncio.to_thread(recorder.close)  # the client's socket closes only while the loop runs


def _readable(client: socket.socket) -> bool:
    return bool(select.select([client], [], [], _QUIET_SECONDS)[0])


def _count(reader: hiredis.Reader, chunk: bytes) -> int:
    reader.feed(chunk)
    count = 0
    while reader.gets() is not False:  # 0, which is a reply, equals False
        count += 1
    return count
