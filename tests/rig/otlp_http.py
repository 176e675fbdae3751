"""The door of the OTLP receiver for HTTP: `/v1/traces` in binary protobuf."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rig.certificates import Certificates
    from rig.otlp import Behaviour, Manners

_PATH = "/v1/traces"
_PROTOBUF = "application/x-protobuf"
_GARBAGE = b"\x00\x01\xff this is no HTTP \r\n\r\n\x00" * 50
_PAGE = b"<!doctype html><title>Log in</title>"


class HttpDoor:
    """Serves until it is closed; with a `client_ca` only those who show a certificate of it."""

    def __init__(self, manners: Manners, *, tls: Certificates | None, client_ca: Path | None, port: int) -> None:
        self._server = _Server(manners, _context(tls, client_ca) if tls else None, port)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Its TCP port."""
        port: int = self._server.server_address[1]
        return port

    def close(self) -> None:
        """Refuse from now on, and hang up on everyone."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._server.hang_up()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, manners: Manners, context: ssl.SSLContext | None, port: int) -> None:
        self.manners = manners
        self.context = context
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request_thread(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override] # narrower than the standard library's stub
        connection = request
        try:
            if self.context is not None:
                connection = self.context.wrap_socket(request, server_side=True)
            self._open.add(connection)
            self.finish_request(connection, client_address)  # type: ignore[arg-type] # as above
        except (OSError, ValueError):
            pass  # the client went away, or does not trust us: both are what some tests want
        finally:
            self._open.discard(connection)
            self.close_request(connection)

    def hang_up(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = self._body()
        if self.path != _PATH or self.headers.get("content-type") != _PROTOBUF:
            self._answer(404 if self.path != _PATH else 415)
            return
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self._act(self.server.manners.take("http/protobuf", dict(self.headers), body))

    def _body(self) -> bytes:
        """The exporter for Node.js sends chunks, that for Python tells the length."""
        if self.headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _act(self, behaviour: Behaviour) -> None:
        manners = self.server.manners
        match behaviour:
            case "unavailable":
                wait = {} if manners.retry_after is None else {"Retry-After": str(manners.retry_after)}
                self._answer(503, **wait)
            case "forbids" | "rejects":
                self._answer(401 if behaviour == "forbids" else 400)
            case "garbage":
                self.wfile.write(_GARBAGE)
                self.close_connection = True
            case "closes" | "hangs":
                self.close_connection = True
            case "page":
                self._answer(200, _PAGE, **{"Content-Type": "text/html"})
            case "redirects":
                self._answer(302, Location="/login")
            case "endless":
                self._endless()
            case _:
                self._answer(200, manners.answer(behaviour), **{"Content-Type": _PROTOBUF})

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", _PROTOBUF)
        self.end_headers()
        while not self.server.manners.released.is_set():
            self.wfile.write(bytes(1 << 16))

    def log_message(self, *_: object) -> None:
        """A test's output is no access log."""


def _context(tls: Certificates, client_ca: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls.server_certificate, tls.server_key)
    if client_ca is not None:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
