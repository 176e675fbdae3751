"""Listening sockets and the uvicorn server on them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from qobserve.config.kinds import split_address
from qobserve.errors import QobserveError
from qobserve.server.tls import LiveContext

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from starlette.types import ASGIApp

    from qobserve.server.live import LiveWebConfig

_log = logging.getLogger("qobserve.server")
_uvicorn_log = logging.getLogger("uvicorn.error")

_BACKLOG = 128
_GRACE = 5
_SWEEP = 0.1
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

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let running requests end, for a short grace at most, and wait for no client to say good-bye."""
        sweeping = asyncio.create_task(self._sweep())
        _uvicorn_log.addFilter(_speaks_of_requests)
        try:
            await super().shutdown(sockets)
        finally:
            _uvicorn_log.removeFilter(_speaks_of_requests)
            sweeping.cancel()
        cut = self._protocols()
        if cut:
            _log.warning("answers were cut off at the end", extra={"connections": len(cut)})
        for protocol in cut:
            protocol.transport.abort()

    async def _sweep(self) -> None:
        """Abort what is closed and has sent everything: over TLS it would wait for the client to close as well."""
        closing: set[H11Protocol] = set()
        while True:
            done = {protocol for protocol in self._protocols() if _has_sent_all(protocol)}
            for protocol in done & closing:
                protocol.transport.abort()
            closing = done
            await asyncio.sleep(_SWEEP)

    def _protocols(self) -> list[H11Protocol]:
        return [each for each in self.server_state.connections if isinstance(each, H11Protocol)]


def _has_sent_all(protocol: H11Protocol) -> bool:
    transport = protocol.transport
    # A TLS transport does not count what the one below it has not sent, and has no public way to that one.
    below = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
    unsent = below.get_write_buffer_size() if isinstance(below, asyncio.WriteTransport) else 0
    return transport.is_closing() and not transport.get_write_buffer_size() and not unsent


def _speaks_of_requests(record: logging.LogRecord) -> bool:
    # At the end of the grace uvicorn complains also when it has nothing to cancel.
    return record.args != (0,)
