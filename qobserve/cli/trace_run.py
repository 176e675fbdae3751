"""The running tracer: it follows the events of all targets and exports spans, until a signal says stop."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from typing import TYPE_CHECKING

from qobserve import __version__
from qobserve.server.traces import Traces
from qobserve.tracing.provider import build

if TYPE_CHECKING:
    from qobserve.config import Settings

_log = logging.getLogger("qobserve.cli")


async def run(settings: Settings) -> int:
    """Trace until SIGTERM or SIGINT, send what is held, and end; a second signal ends the process at once.

    The exit code.
    """
    _log.info("starting", extra={"version": __version__, "targets": ",".join(settings.targets)})
    export = build(settings.tracing, os.environ)
    if export is None:  # the settings were checked by the same rules
        raise ValueError("no endpoint is asked for")
    traces = Traces(settings, export)
    stopping = _stopping()
    try:
        await traces.start()
        _log.info("exporting spans", extra={"endpoint": export.endpoint})
        await stopping.wait()
    finally:
        await traces.close()
        counts = export.emitter.counts()
        _log.info("stopped", extra={"exported": counts.exported, "dropped": sum(counts.dropped.values())})
    return 0


def _stopping() -> asyncio.Event:
    """Set by the first signal to stop."""
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def stop(number: signal.Signals) -> None:
        _log.info("stopping", extra={"signal": number.name})
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)
        stopping.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stop, each)
    return stopping
