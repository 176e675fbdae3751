"""The running exporter: HTTP until a signal says stop, and a new configuration whenever one is asked for."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from typing import TYPE_CHECKING

from qobserve import __version__, logs
from qobserve.config.table import SETTINGS
from qobserve.errors import SettingsError
from qobserve.server.auth import Gate
from qobserve.server.http import Pages
from qobserve.server.listen import HttpServer, bind, shown_address
from qobserve.server.live import LiveWebConfig
from qobserve.server.scrape import Scraper
from qobserve.tracing.provider import build

if TYPE_CHECKING:
    from collections.abc import Callable

    from qobserve.config import Settings, WebSettings
    from qobserve.tracing.provider import Export

_log = logging.getLogger("qobserve.cli")

_FIXED = ("web", "follow", "metrics", "tracing")
"""The sections that hold settings of which a change needs a restart."""


class Exporter:
    """The settings in force and what runs by them."""

    def __init__(self, settings: Settings, read_settings: Callable[[], Settings], export: Export | None) -> None:
        self._settings = settings
        self._read_settings = read_settings
        self._live = LiveWebConfig(settings.web.config_file)
        self._scraper = Scraper(settings, export=export)
        self._reloading = asyncio.Lock()
        self._signalled: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT; a second one ends the process at once."""
        sockets = bind(self._settings.web.listen_addresses)
        server = HttpServer(Gate(Pages(self._scraper, self._web, self.reload).app(), self._live), self._live, sockets)
        self._handle_signals(server)
        try:
            await self._scraper.start()
            for listening in sockets:
                _log.info("listening", extra={"address": shown_address(listening), "tls": self._live.serves_tls})
            await server.serve()
        finally:
            await self._scraper.close()
            _log.info("stopped")

    async def reload(self) -> None:
        """Read everything again and use it.

        Raises:
            SettingsError: something is wrong; it was logged, and the old configuration stays in force.
        """
        async with self._reloading:
            try:
                settings = await asyncio.to_thread(self._read_settings)
                self._live.reload()
            except SettingsError as exc:
                for problem in exc.problems:
                    _log.error("the new configuration is wrong, the old one stays", extra={"error": problem})
                raise
            self._warn_about_restarts(settings)
            await self._scraper.reload(settings)
            logs.configure(settings.log.level, settings.log.format)
            self._settings = settings
            _log.info("configuration reloaded", extra={"targets": ",".join(settings.targets)})

    def _web(self) -> WebSettings:
        return self._settings.web

    def _warn_about_restarts(self, settings: Settings) -> None:
        for setting in SETTINGS:
            if setting.section in _FIXED and not setting.reload:
                section = setting.section
                old, new = (getattr(getattr(each, section), setting.field) for each in (self._settings, settings))
                if old != new:
                    _log.warning("a changed setting needs a restart", extra={"setting": setting.name})

    def _handle_signals(self, server: HttpServer) -> None:
        loop = asyncio.get_running_loop()

        def stop(number: signal.Signals) -> None:
            _log.info("stopping", extra={"signal": number.name})
            for each in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(each)
            server.stop()

        for each in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(each, stop, each)
        loop.add_signal_handler(signal.SIGHUP, self._reload_on_signal)
        # One that came while the program started has waited for this.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    def _reload_on_signal(self) -> None:
        task = asyncio.create_task(self._reload_logged())
        self._signalled.add(task)
        task.add_done_callback(self._signalled.discard)

    async def _reload_logged(self) -> None:
        try:
            await self.reload()
        except SettingsError:
            # reload() has logged every mistake already; nobody waits for an answer to a signal.
            return


async def serve(settings: Settings, read_settings: Callable[[], Settings]) -> int:
    """Run the exporter; `read_settings` makes the new ones at a reload. The exit code."""
    _log.info("starting", extra={"version": __version__, "targets": ",".join(settings.targets)})
    export = build(settings.tracing, os.environ) if settings.follow.enabled else None
    if export is not None:
        _log.info("exporting spans", extra={"endpoint": export.endpoint})
    await Exporter(settings, read_settings, export).run()
    return 0
