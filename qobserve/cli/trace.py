"""`qobserve trace`: export spans of the jobs of one or more Redis, and nothing else."""

from __future__ import annotations

import asyncio
import logging
import os

from qobserve import logs
from qobserve.cli.output import put
from qobserve.cli.settings_command import SettingsCommand
from qobserve.cli.trace_settings import TRACE_SETTINGS, trace_settings

_log = logging.getLogger("qobserve.cli")


def trace(words: tuple[str, ...]) -> int:
    """Trace the BullMQ jobs of one or more Redis into an OTLP receiver, without serving metrics.

    The exporter does the same beside its metrics when it is given the endpoint. Reads only; never writes to Redis.
    """
    settings = trace_settings(words, os.environ)
    if settings.config_check:
        put("ok\n")
        return 0
    logs.configure(settings.log.level, settings.log.format)
    for warning in settings.warnings:
        _log.warning(warning)
    # Imported here so that --help and --config.check do not wait for the Redis libraries.
    from qobserve.cli.trace_run import run  # noqa: PLC0415 - as above

    return asyncio.run(run(settings))


command = SettingsCommand("trace", TRACE_SETTINGS, callback=trace)
