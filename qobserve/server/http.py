"""The pages that the exporter serves, as a Starlette application round a scraper."""

from __future__ import annotations

import asyncio
import gzip
import math
import time
from typing import TYPE_CHECKING, Protocol

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from qobserve import __version__
from qobserve.errors import SettingsError
from qobserve.server.landing import LANDING_POLICY, landing_page

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from qobserve.config import WebSettings

_DEFAULT_TIMEOUT = 10.0
_LEAST_TIMEOUT = 0.1
_LEAST_SHARE = 0.5
"""Of a scrape's time, what is left for reading and printing however long compressing takes."""
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Scrape(Protocol):
    """One answer to Prometheus."""

    @property
    def body(self) -> bytes:
        """The exposition."""

    @property
    def content_type(self) -> str:
        """Its content type, with version and charset."""


class Scraper(Protocol):
    """What the pages need to know and to ask."""

    async def scrape(self, alias: str | None, *, timeout: float, accept: str) -> Scrape:  # noqa: ASYNC109 - it bounds an answer that must be given anyway, it does not cancel
        """The metrics of a target, None for the default one and the exporter's own, within `timeout` seconds."""

    def ready(self) -> bool:
        """Whether the queues have been read once."""

    def aliases(self) -> tuple[str, ...]:
        """The names of all targets."""


class Pages:
    """The endpoints. `web` is asked at each scrape, so that a reload takes effect; `reload` raises SettingsError."""

    def __init__(self, scraper: Scraper, web: Callable[[], WebSettings], reload: Callable[[], Awaitable[None]]) -> None:
        self._scraper = scraper
        self._web = web
        self._reload = reload
        self._telemetry_path = web().telemetry_path
        self._zips: dict[str | None, _Zip] = {}

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/", self.landing),
                Route(self._telemetry_path, self.metrics),
                Route("/scrape", self.scrape),
                Route("/discover", self.discover),
                Route("/-/healthy", self.healthy),
                Route("/-/ready", self.ready),
                Route("/-/reload", self.reload, methods=["POST", "PUT"]),
            ],
        )

    async def landing(self, _request: Request) -> Response:
        """Links to the other pages."""
        page = landing_page(__version__, self._telemetry_path, self._scraper.aliases())
        return HTMLResponse(page, headers={"Content-Security-Policy": LANDING_POLICY})

    async def metrics(self, request: Request) -> Response:
        """The default target and the exporter's own metrics."""
        return await self._scraped(request, None)

    async def scrape(self, request: Request) -> Response:
        """One target, by its alias; never by an address, so that nobody can have this exporter connect elsewhere."""
        aliases = self._scraper.aliases()
        alias = request.query_params.get("target", "")
        if alias not in aliases:
            known = ", ".join(aliases)
            what = "there is no such target" if alias else "the parameter target is missing"
            return PlainTextResponse(f"{what}; the targets are: {known}\n", 400)
        return await self._scraped(request, alias)

    async def discover(self, request: Request) -> Response:
        """All targets in the form of Prometheus's HTTP service discovery."""
        host = _host_and_port(request)
        # Left out over plain HTTP, so that behind a proxy with TLS the scheme of Prometheus's own settings holds.
        scheme = {"__scheme__": "https"} if request.url.scheme == "https" else {}
        entries = [
            {
                "targets": [host],
                "labels": {
                    **scheme,
                    "__metrics_path__": "/scrape",
                    "__param_target": alias,
                    "bullmq_target": alias,
                },
            }
            for alias in self._scraper.aliases()
        ]
        return JSONResponse(entries)

    async def healthy(self, _request: Request) -> Response:
        """Answers as long as the process does."""
        return PlainTextResponse("qobserve is healthy.\n")

    async def ready(self, _request: Request) -> Response:
        """Whether the queues have been read once."""
        if self._scraper.ready():
            return PlainTextResponse("qobserve is ready.\n")
        return PlainTextResponse("qobserve is not ready: the queues have not been read yet.\n", 503)

    async def reload(self, _request: Request) -> Response:
        """Read the configuration again; the answer names every mistake."""
        try:
            await self._reload()
        except SettingsError as exc:
            return PlainTextResponse(f"{exc}\n", 500)
        return PlainTextResponse("Configuration reloaded.\n")

    async def _scraped(self, request: Request, alias: str | None) -> Response:
        timeout = scrape_timeout(
            request.headers.get("x-prometheus-scrape-timeout-seconds", ""), self._web().timeout_offset
        )
        zipped = accepts_gzip(request.headers.get("accept-encoding", ""))
        last = self._zips.get(alias)
        if zipped and last is not None:
            timeout = max(timeout - last.seconds, timeout * _LEAST_SHARE)
        scrape = await self._scraper.scrape(alias, timeout=timeout, accept=request.headers.get("accept", ""))
        headers = {"Content-Type": scrape.content_type, "Vary": "Accept, Accept-Encoding", "Cache-Control": "no-store"}
        body = scrape.body
        if zipped:
            body = await self._zip(alias, body)
            headers["Content-Encoding"] = "gzip"
        return Response(body, headers=headers)

    async def _zip(self, alias: str | None, body: bytes) -> bytes:
        """The body compressed; scrapes that were given the same object share the work."""
        last = self._zips.get(alias)
        if last is None or last.body is not body:
            last = self._zips[alias] = _Zip(body, 0.0 if last is None else last.seconds)
        return await asyncio.shield(last.task)


class _Zip:
    """One page being compressed, and then compressed; `seconds` is the time that this or, until then, the last took."""

    def __init__(self, body: bytes, seconds: float) -> None:
        self.body = body
        self.seconds = seconds
        self.task = asyncio.create_task(self._compress())

    async def _compress(self) -> bytes:
        began = time.monotonic()
        compressed = await asyncio.to_thread(gzip.compress, self.body, 1)
        self.seconds = time.monotonic() - began
        return compressed


def scrape_timeout(header: str, offset: float) -> float:
    """Seconds that a scrape may take: what Prometheus says less `offset`; ten when it says nothing that makes sense."""
    try:
        seconds = float(header)
    except ValueError:
        seconds = _DEFAULT_TIMEOUT + offset
    if not math.isfinite(seconds) or seconds <= 0:
        seconds = _DEFAULT_TIMEOUT + offset
    return max(_LEAST_TIMEOUT, seconds - offset)


def accepts_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header asks for gzip, by name or by `*`, with a weight above 0."""
    weights: dict[str, float] = {}
    for part in header.lower().split(","):
        coding, *parameters = (piece.strip() for piece in part.split(";"))
        weights[coding] = _weight(parameters)
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter.removeprefix("q="))
            except ValueError:
                return 0.0
    return 1.0


def _host_and_port(request: Request) -> str:
    host = request.headers.get("host") or "{}:{}".format(*request.scope["server"])
    has_port = host.rpartition(":")[2].isdigit() and (host.count(":") == 1 or "]:" in host)
    return host if has_port else f"{host}:{_DEFAULT_PORTS[request.url.scheme]}"
