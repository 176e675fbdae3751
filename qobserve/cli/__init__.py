"""The command line: one file per subcommand, loaded when it is called for."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """The program `qobserve`: run a subcommand and turn whatever it ends with into an exit code."""
    _mind_early_signals()
    # Imported here so that no signal comes before the line above is done.
    from qobserve.cli.program import run  # noqa: PLC0415 - as above

    sys.exit(run(sys.argv[1:]))


def _mind_early_signals() -> None:
    """Have signals do what they should before a subcommand handles them.

    Ctrl-C ends the process without a traceback. A SIGHUP asks the exporter for a reload, so it waits until that is
    possible, see `qobserve.cli.serve`.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:2] == ["exporter"]:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
