"""Listening sockets and the uvicorn server on them."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING

import uvicorn

from qobserve.config.kinds import split_address
from qobserve.errors import QobserveError
from qobserve.server.tls import LiveContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.types import ASGIApp

    from qobserve.server.live import LiveWebConfig

_BACKLOG = 128
_GRACE = 5
# Prometheus scrapes every 15 to 60 seconds on a connection that it would like to keep.
_KEEP_ALIVE = 75


def bind(addresses: Sequence[str]) -> list[socket.socket]:
    """A listening socket for each address.

    Raises:
        QobserveError: an address cannot be listened on; the sentence says which and why. None stays open then.
    """
    sockets: list[socket.socket] = []
    try:
        sockets.extend(_listen(address) for address in addresses)
    except OSError as exc:
        for opened in sockets:
            opened.close()
        failed = addresses[len(sockets)]
        raise QobserveError(f"cannot listen on {failed}: {_reason(exc)}; choose another --web.listen-address") from exc
    return sockets


def shown_address(listening: socket.socket) -> str:
    """The address of a socket as HOST:PORT, with the port that it really has."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _reason(error: OSError) -> str:
    # The standard library adds the address in its own form to some texts; name look-ups have numbers of their own.
    if error.errno is None or isinstance(error, socket.gaierror):
        return (error.strerror or str(error)).lower()
    return os.strerror(error.errno).lower()


def _listen(address: str) -> socket.socket:
    host, port = split_address(address)
    if not host and socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return _prompt(
                socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
            )
        # Without IPv6 in the kernel's settings IPv4 still works; any other reason comes up again below.
    found = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)  # noqa: S104 - ":PORT" means every interface, as with every Prometheus exporter
    family, _, _, _, sockaddr = min(found, key=lambda item: item[0] != socket.AF_INET)
    return _prompt(socket.create_server(sockaddr, family=family, backlog=_BACKLOG))


def _prompt(listening: socket.socket) -> socket.socket:
    """Have its connections, which inherit it, send a page at once and not only after the client's delayed ACK."""
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class HttpServer:
    """Serves an application on sockets until it is told to stop; signals and logs are the caller's."""

    def __init__(self, app: ASGIApp, live: LiveWebConfig, sockets: list[socket.socket]) -> None:
        config = uvicorn.Config(
            app,
            loop="none",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_GRACE,
        )
        config.load()
        config.ssl = LiveContext(live.context) if live.serves_tls else None
        self._server = _QuietServer(config)
        self._sockets = sockets

    async def serve(self) -> None:
        """Serve until `stop` is called, then until running requests have ended or a short grace is over."""
        await self._server.serve(self._sockets)

    def stop(self) -> None:
        """Take no more connections and end."""
        self._server.should_exit = True


class _QuietServer(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the program."""
        yield
