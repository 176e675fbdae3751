"""A process of the demo: in its own process group, on a leash, with the last lines that it wrote at hand."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from qobserve.demo.leash import leashed
from qobserve.errors import QobserveError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

_POLL_SECONDS = 0.05
_GRACE_SECONDS = 3.0
_LINES = 40


class Child:
    """Runs `program` while its `async with` block runs; `name` is what messages call it.

    The group of its own keeps a Ctrl-C of the terminal from it: the demo decides the order in which things end.
    """

    def __init__(self, name: str, *program: str) -> None:
        self.name = name
        self.lines: deque[str] = deque(maxlen=_LINES)
        self._program = program
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            *leashed(*self._program),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=_environment(),
            process_group=0,
        )
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None or self._reading is None:
            return
        self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), _GRACE_SECONDS)
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self._process.wait()
        self._reading.cancel()

    def owns(self, pid: int) -> bool:
        """Whether process `pid` belongs to this child's process group."""
        with suppress(ProcessLookupError):
            return self._process is not None and os.getpgid(pid) == self._process.pid
        return False

    async def check(self) -> None:
        """Raise QobserveError when the process has ended; nothing of the demo ends by itself."""
        if self._process is None or self._reading is None or self._process.returncode is None:
            return
        await asyncio.wait((self._reading,), timeout=_POLL_SECONDS)  # its last words may still be in the pipe
        raise QobserveError(f"{self.name} ended with exit code {self._process.returncode}: {self._last_line()}")

    async def until(self, ready: Callable[[], Awaitable[bool]], *, within: float) -> None:
        """Wait until `ready`; raise QobserveError when the process ends first or `within` seconds are over."""
        deadline = asyncio.get_running_loop().time() + within
        while not await ready():
            await self.check()
            if asyncio.get_running_loop().time() > deadline:
                raise QobserveError(f"{self.name} did not come up within {within:g} s: {self._last_line()}")
            await asyncio.sleep(_POLL_SECONDS)

    async def _read(self) -> None:
        if self._process is None or self._process.stdout is None:
            return
        while not self._process.stdout.at_eof():
            with suppress(ValueError):  # a line beyond the reader's limit is dropped; the pipe must not fill up
                line = await self._process.stdout.readline()
                self.lines.append(line.decode(errors="replace").rstrip())

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):  # it ended a moment ago; macOS words it the second way
                os.killpg(self._process.pid, number)

    def _last_line(self) -> str:
        said = [line for line in self.lines if line.strip()]
        return said[-1] if said else "it said nothing"


def _environment() -> dict[str, str]:
    """Ours without QOBSERVE_*: settings of the user's own exporter are not meant for the one of the demo."""
    return {name: value for name, value in os.environ.items() if not name.startswith("QOBSERVE_")}
