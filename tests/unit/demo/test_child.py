"""A process of the demo ends with its block, and says why when it ends too early."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from qobserve.demo import child as module
from qobserve.demo.child import Child
from qobserve.errors import QobserveError

if TYPE_CHECKING:
    from pathlib import Path


async def says_up(child: Child) -> bool:
    return "up" in child.lines


def python(code: str) -> Child:
    return Child("the thing", sys.executable, "-u", "-c", code)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_child_runs_in_a_group_of_its_own_and_ends_with_its_block() -> None:
    async with python("import os, time; print(os.getpid()); print('up'); time.sleep(60)") as child:
        await child.until(lambda: says_up(child), within=20)
        pid = int(child.lines[0])
        assert os.getpgid(pid) != os.getpgrp()
        assert child.owns(pid)
        assert not child.owns(os.getpid())
    assert not alive(pid)


async def test_a_child_is_asked_to_end_before_it_is_killed(tmp_path: Path) -> None:
    told = tmp_path / "told"
    code = f"import pathlib, signal, sys, time; told = pathlib.Path({str(told)!r})\n"
    code += "signal.signal(15, lambda *_: sys.exit(told.touch())); print('up'); time.sleep(60)"
    async with python(code) as child:
        await child.until(lambda: says_up(child), within=20)
    assert told.exists()


async def test_a_child_that_will_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GRACE_SECONDS", 0.2)
    stubborn = (
        "import os, signal, time; signal.signal(15, signal.SIG_IGN); print(os.getpid()); print('up'); time.sleep(60)"
    )
    async with python(stubborn) as child:
        await child.until(lambda: says_up(child), within=20)
        pid = int(child.lines[0])
    assert not alive(pid)


async def test_a_child_that_ends_early_is_reported_with_its_last_words() -> None:
    async with python("print('first'); print('no room'); raise SystemExit(3)") as child:
        with pytest.raises(QobserveError, match=r"^the thing ended with exit code 3: no room$"):
            await child.until(lambda: says_up(child), within=20)


async def test_a_child_that_does_not_come_up_in_time_is_reported() -> None:
    async with python("import time; time.sleep(60)") as child:
        with pytest.raises(QobserveError, match=r"^the thing did not come up within 0.3 s: it said nothing$"):
            await child.until(lambda: says_up(child), within=0.3)


async def test_a_line_beyond_every_limit_does_not_stop_the_reading() -> None:
    async with python("print('x' * 1_000_000); print('up'); import time; time.sleep(60)") as child:
        await child.until(lambda: says_up(child), within=20)


async def test_the_settings_of_ones_own_exporter_do_not_reach_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QOBSERVE_REDIS_URL", "redis://elsewhere")
    monkeypatch.setenv("OTHER", "stays")
    code = "import os, time; print(sorted(os.environ.keys() & {'OTHER', 'QOBSERVE_REDIS_URL'})); print('up')"
    async with python(f"{code}; time.sleep(60)") as child:
        await child.until(lambda: says_up(child), within=20)
        assert child.lines[0] == "['OTHER']"


async def test_a_cancelled_block_ends_its_child() -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def hold() -> None:
        async with python("import os, time; print(os.getpid()); print('up'); time.sleep(60)") as child:
            await child.until(lambda: says_up(child), within=20)
            started.set_result(int(child.lines[0]))
            await asyncio.sleep(60)

    task = asyncio.create_task(hold())
    pid = await started
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
