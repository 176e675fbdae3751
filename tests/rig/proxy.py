"""A TCP proxy that lets replies through whole, in trickles, or up to some byte; and a server that is no Redis."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRICKLE_SECONDS = 0.05
_CHUNK = 1 << 16


class Proxy:
    """One proxy; its settings may be changed at any time, which `reset` makes count for connections that are open.

    Attributes:
        cut_after: How many bytes of the replies on one connection are let through before it is closed; None for all.
        trickles: Whether replies come byte by byte.
        replied: How many bytes of replies the largest connection was sent.
    """

    def __init__(self, port: int) -> None:
        self.cut_after: int | None = None
        self.trickles = False
        self.replied = 0
        self._upstream = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """A URL that leads through it."""
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}"

    def reset(self) -> None:
        """Close all connections."""
        while self._open:
            _close(self._open.pop())

    def close(self) -> None:
        """End it."""
        _close(self._listener)
        self.reset()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._upstream))
                self._open += (client, server)
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=self._replies, args=(server, client), daemon=True).start()

    @staticmethod
    def _requests(client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := client.recv(_CHUNK):
                server.sendall(chunk)
        _close(server)

    def _replies(self, server: socket.socket, client: socket.socket) -> None:
        sent = 0
        with contextlib.suppress(OSError):
            while chunk := server.recv(_CHUNK):
                whole = self.cut_after is None or sent + len(chunk) < self.cut_after
                chunk = chunk if whole else chunk[: (self.cut_after or 0) - sent]
                self._send(client, chunk)
                sent += len(chunk)
                self.replied = max(self.replied, sent)
                if not whole:
                    break
        _close(client)

    def _send(self, client: socket.socket, chunk: bytes) -> None:
        if not self.trickles:
            client.sendall(chunk)
            return
        for byte in chunk:
            client.sendall(bytes([byte]))
            time.sleep(_TRICKLE_SECONDS)


@contextlib.contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    """A proxy before a port for the length of a `with` block."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()


@contextlib.contextmanager
def answering(reply: bytes | None) -> Iterator[str]:
    """The URL of a server that says the same to everyone and hangs up; with None it says nothing."""
    listener = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                held.append(client)
                if reply is not None:
                    client.recv(_CHUNK)
                    client.sendall(reply)
                    _close(client)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        for each in (listener, *held):
            _close(each)


def _close(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
