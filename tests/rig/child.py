"""A child process in a group of its own that dies with the process that started it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LAUNCHER = """
import ctypes, os, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        raise SystemExit("the process that asked for this one is gone")
os.execvp(sys.argv[2], sys.argv[2:])
"""
_POLL_SECONDS = 0.02
_LOG_TAIL = 4_000


class RigTimeoutError(AssertionError):
    """Something that a test waited for did not happen in its time."""


def wait_until(check: Callable[[], bool], what: str, *, timeout: float = 10.0, poll: float = _POLL_SECONDS) -> None:
    """Ask again and again until `check` holds.

    Args:
        check: The condition.
        what: What is awaited, for the message of the failure; it may be a sentence.
        timeout: Seconds until the wait is given up.
        poll: Seconds between two looks.

    Raises:
        RigTimeoutError: The condition did not hold in time.
    """
    deadline = time.monotonic() + timeout
    while not check():
        if time.monotonic() > deadline:
            raise RigTimeoutError(f"waited {timeout:g} s in vain: {what}")
        time.sleep(poll)


class Child:
    """One running program; its errors, and its output unless that is piped, go to a log file.

    The kernel kills it (Linux) when the thread that started it ends, so start it from one that lives on.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        piped: bool = False,
    ) -> None:
        self.name = Path(argv[0]).name
        self._log = tempfile.NamedTemporaryFile(prefix="qobserve-rig-", suffix=".log")  # noqa: SIM115 - closed by kill()
        pipe = subprocess.PIPE if piped else None
        self.process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *argv],
            stdin=pipe or subprocess.DEVNULL,
            stdout=pipe or self._log,
            stderr=self._log,
            env=None if env is None else dict(env),
            cwd=cwd,
            text=True,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """Process id, which is its group's id as well."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.process.poll() is None

    @property
    def stdin(self) -> IO[str]:
        """Its standard input; only when it was started with `piped`."""
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> IO[str]:
        """Its standard output; only when it was started with `piped`."""
        assert self.process.stdout is not None
        return self.process.stdout

    def log(self) -> str:
        """The end of what it wrote to its log."""
        with Path(self._log.name).open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _LOG_TAIL))
            return file.read().decode(errors="replace")

    def signal(self, number: int) -> None:
        """Send a signal to the whole group; a group that is gone is no error."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def terminate(self, timeout: float = 10.0) -> int:
        """Ask it to end (SIGTERM), wait, and tell its exit code; it is killed where it does not obey."""
        self.signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired as exc:
            raise RigTimeoutError(f"{self.name} ignored SIGTERM for {timeout:g} s: {self.log()}") from exc
        finally:
            self.kill()

    def kill(self) -> None:
        """End it at once, and leave nothing of it behind."""
        self.signal(signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._log.close()
