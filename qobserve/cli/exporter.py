"""`qobserve exporter`: serve the metrics of one or more Redis, or print them once."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING

from qobserve import logs
from qobserve.cli.output import put
from qobserve.cli.settings_command import SettingsCommand
from qobserve.config.load import collect
from qobserve.config.table import SETTINGS
from qobserve.errors import SettingsError
from qobserve.server.web_config import load_web_config
from qobserve.tracing.destination import destination

if TYPE_CHECKING:
    from qobserve.config import Settings

_log = logging.getLogger("qobserve.cli")


def checked_settings(words: tuple[str, ...]) -> Settings:
    """The settings of a command line and this process's environment; all that they name is checked with them.

    Raises:
        SettingsError: something is wrong; it lists every mistake.
    """
    outcome = collect(words, os.environ)
    problems = list(outcome.problems)
    if outcome.settings.web.config_file is not None:
        try:
            load_web_config(outcome.settings.web.config_file)
        except SettingsError as exc:
            problems += exc.problems
    if outcome.settings.follow.enabled:
        try:
            destination(outcome.settings.tracing, os.environ)
        except SettingsError as exc:
            problems += exc.problems
    if problems:
        raise SettingsError(problems)
    return outcome.settings


def exporter(words: tuple[str, ...]) -> int:
    """Serve Prometheus metrics of the BullMQ queues of one or more Redis.

    Flags win over environment variables, those over the file of --config.file. Reads only; never writes to Redis.
    """
    settings = checked_settings(words)
    if settings.config_check:
        put("ok\n")
        return 0
    logs.configure(settings.log.level, settings.log.format)
    for warning in settings.warnings:
        _log.warning(warning)
    # Imported here so that --help and --config.check do not wait for the Redis and HTTP libraries.
    if settings.once:
        from qobserve.cli.once import scrape_once  # noqa: PLC0415 - as above

        return asyncio.run(scrape_once(settings))
    from qobserve.cli.serve import serve  # noqa: PLC0415 - as above

    return asyncio.run(serve(settings, lambda: checked_settings(words)))


command = SettingsCommand("exporter", SETTINGS, callback=exporter)
