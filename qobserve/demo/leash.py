"""Runs a program that ends when the process that started it ends, however that one ends.

    python -m qobserve.demo.leash PARENT PROGRAM [ARGUMENT ...]

PARENT is the process id of the starter, which also holds the other end of our standard input.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def leashed(*program: str) -> tuple[str, ...]:
    """The command line that runs `program` on a leash held by this process."""
    return (sys.executable, "-P", "-m", __name__, str(os.getpid()), *program)


def become(parent: int, program: Sequence[str]) -> NoReturn:
    """Turn into `program`, which the Linux kernel kills when `parent` dies; the tie survives the exec."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the tie was made, so the kernel will not tell us
        sys.exit(1)
    os.execv(program[0], list(program))  # noqa: S606 - no shell is wanted between us and the program


def keep(program: Sequence[str]) -> NoReturn:
    """Run `program` and kill it when our standard input ends: the way for kernels that know no such tie."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to the whole group: we leave after the program, with its code
    child = subprocess.Popen(  # noqa: S603 - the command line is the demo's own, never a user's text
        program,
        stdin=subprocess.DEVNULL,
        preexec_fn=_heed_sigterm,  # noqa: PLW1509 - no thread exists yet
    )
    threading.Thread(target=_kill_at_eof, args=(child,), daemon=True).start()
    sys.exit(child.wait())


def _heed_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _kill_at_eof(child: subprocess.Popen[bytes]) -> None:
    while os.read(0, 4096):
        pass
    child.kill()


def main() -> NoReturn:
    """Read the command line and run its program in the way that this system offers."""
    parent, *program = sys.argv[1:]
    if sys.platform == "linux":
        become(int(parent), program)
    keep(program)


if __name__ == "__main__":
    main()
