"""The server of the demo: a Valkey on a loopback port that keeps everything in memory and writes no file."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from qobserve.demo.address import free_port
from qobserve.demo.child import Child
from qobserve.errors import QobserveError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

_UP_SECONDS = 15.0
_ANSWER_SECONDS = 1.0
_TRIES = 3


@asynccontextmanager
async def server(binary: Path) -> AsyncIterator[tuple[Child, int]]:
    """Run `binary` (Redis or Valkey) and yield it with its port.

    The port is chosen before the server binds it, so another process can be faster: then a second port is tried.
    """
    for last in (False,) * (_TRIES - 1) + (True,):
        port = free_port()
        async with Child("the server", *_command(binary, port)) as child:
            try:
                await child.until(partial(_serves, port, child), within=_UP_SECONDS)
            except QobserveError:
                if last or not any("ddress already in use" in line for line in child.lines):
                    raise
                continue
            yield child, port
            return


def _command(binary: Path, port: int) -> tuple[str, ...]:
    # Its working folder is the root and it saves nothing, so there is no folder that could be left behind.
    memory_only = ("--save", "", "--appendonly", "no", "--dir", "/")
    return (str(binary), "--bind", "127.0.0.1", "--port", str(port), *memory_only, "--maxmemory-policy", "noeviction")


async def _serves(port: int, child: Child) -> bool:
    """Whether what answers on `port` is our own child and not a server that took the port before it."""
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(b"INFO server\r\n")
                answer = await reader.readuntil(b"uptime_in_seconds")
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return False
    return b"tcp_port:%d\r" % port in answer and child.owns(_process_id(answer))


def _process_id(info: bytes) -> int:
    _, _, rest = info.partition(b"process_id:")
    return int(rest.split(b"\r", 1)[0] or 0)
