"""The web configuration while the server runs: changed users, headers and certificates take effect at once."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from qobserve.errors import SettingsError
from qobserve.server.web_config import NO_WEB_CONFIG, load_web_config

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable
    from pathlib import Path

    from qobserve.server.web_config import WebConfig

_log = logging.getLogger("qobserve.server")


class LiveWebConfig:
    """Holds the last good configuration of a file; without a file there is nothing to hold.

    Raises:
        SettingsError: the file is wrong at the start. Later a wrong file is logged, and the last good one stays.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._config = NO_WEB_CONFIG if path is None else load_web_config(path)
        self._seen = _fingerprint(self._config.files)

    @property
    def serves_tls(self) -> bool:
        """Whether connections are encrypted; settled at the start, as listening sockets speak the one or the other."""
        return self._config.tls is not None

    def current(self) -> WebConfig:
        """The configuration to use now; looks at the files' times and sizes and reads them again if those changed."""
        now = _fingerprint(self._config.files)
        if now != self._seen:
            self._seen = now
            try:
                self.reload()
            except SettingsError as exc:
                for problem in exc.problems:
                    _log.error("the changed web configuration is wrong, the old one stays", extra={"error": problem})
        return self._config

    def context(self) -> ssl.SSLContext:
        """The TLS context for a connection that begins now; only for a server that serves TLS."""
        tls = self.current().tls
        if tls is None:
            raise RuntimeError("TLS was asked for without being configured")
        return tls

    def reload(self) -> None:
        """Read the file again.

        Raises:
            SettingsError: it is wrong; the old configuration stays.
        """
        if self._path is None:
            return
        config = load_web_config(self._path)
        if (config.tls is not None) != self.serves_tls:
            _log.warning("switching TLS on or off needs a restart", extra={"tls": self.serves_tls})
            config = replace(config, tls=self._config.tls)
        self._config = config
        self._seen = _fingerprint(config.files)
        _log.info("web configuration read", extra={"file": self._path, "users": len(config.users)})


def _fingerprint(files: Iterable[Path]) -> tuple[tuple[int, int, int] | None, ...]:
    return tuple(map(_stat, files))


def _stat(path: Path) -> tuple[int, int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)
