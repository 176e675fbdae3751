"""A program on a leash ends with the one that started it, in both ways that there are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

END_SECONDS = 15
KEEP = "import sys; from qobserve.demo.leash import keep; keep(sys.argv[1:])"


def eventually(what: str, check: Callable[[], object], seconds: float = END_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def gone(pid: int) -> bool:
    """Whether it runs no more; in a container without an init nobody waits for orphans, which then stay as zombies."""
    try:
        os.kill(pid, 0)
        return sys.platform == "linux" and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (ProcessLookupError, FileNotFoundError):
        return True


def writes_its_pid(told: Path) -> list[str]:
    code = f"import os, pathlib, time; pathlib.Path({str(told)!r}).write_text(str(os.getpid())); time.sleep(60)"
    return [sys.executable, "-c", code]


@pytest.mark.parametrize("end", ["end of input", "SIGTERM"])
def test_the_keeper_ends_its_program(end: str, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    program = [sys.executable, "-c", KEEP, *writes_its_pid(told)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, process_group=0) as keeper:
        assert keeper.stdin is not None
        try:
            eventually("the program runs", lambda: told.exists() and told.read_text())
            if end == "SIGTERM":
                os.killpg(keeper.pid, signal.SIGTERM)
            else:
                keeper.stdin.close()
            assert keeper.wait(END_SECONDS) != 0
            assert gone(int(told.read_text()))
        finally:
            keeper.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")
def test_the_kernel_ends_a_program_whose_starter_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    start = "import subprocess, sys; from qobserve.demo.leash import leashed; subprocess.run(leashed(*sys.argv[1:]))"
    with subprocess.Popen([sys.executable, "-c", start, *writes_its_pid(told)]) as starter:
        try:
            eventually("the program runs", lambda: told.exists() and told.read_text())
        finally:
            starter.kill()
    eventually("the program is gone", lambda: gone(int(told.read_text())))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a process to its parent")
def test_a_program_whose_starter_died_before_the_tie_does_not_start(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    not_our_parent = "1"
    leash = [sys.executable, "-m", "qobserve.demo.leash", not_our_parent, *writes_its_pid(told)]
    assert subprocess.run(leash, check=False).returncode == 1
    assert not told.exists()
