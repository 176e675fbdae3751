"""The settings of `qobserve demo`: a table of its own, read in the same way as that of the exporter."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from qobserve.config import kinds
from qobserve.config.environment import read_environment
from qobserve.config.flags import read_flags
from qobserve.config.resolve import resolve
from qobserve.config.setting import DEMO_PREFIX, Setting
from qobserve.config.shown import quoted_name
from qobserve.config.values import Values
from qobserve.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class DemoSettings(Values):
    """What the demo can be told; `duration` is in seconds, None until a signal."""

    duration: float | None = None
    listen_address: str = "127.0.0.1:10538"
    server_binary: Path | None = None


def _program(text: str) -> Path:
    path = Path(text).resolve()
    if not path.is_file() or not os.access(path, os.X_OK):
        raise ValueError(f"{quoted_name(text)} is not a program that can be run")
    return path


SHOWN_SETTINGS = (
    Setting(
        name="duration",
        kind=kinds.POSITIVE_DURATION,
        owner=DemoSettings,
        field="duration",
        help="Time after which it ends by itself: 30, 30s or 5m; without it at Ctrl-C.",
        prefix=DEMO_PREFIX,
    ),
    Setting(
        name="web.listen-address",
        kind=kinds.LISTEN_ADDRESS,
        owner=DemoSettings,
        field="listen_address",
        help="Where /metrics is served; a free port of the same host when this one is taken.",
        prefix=DEMO_PREFIX,
    ),
)
# For its own tests: a Redis or Valkey server to start in place of the embedded one.
_SERVER_BINARY = Setting(
    name="redis.server-binary",
    kind=kinds.Kind(metavar="FILE", parse=_program),
    owner=DemoSettings,
    field="server_binary",
    help="A Redis or Valkey server to start in place of the embedded one.",
    prefix=DEMO_PREFIX,
)
_SETTINGS = (*SHOWN_SETTINGS, _SERVER_BINARY)


def demo_settings(words: Sequence[str], environ: Mapping[str, str]) -> DemoSettings:
    """The settings from a command line's words and the variables that begin with QOBSERVE_DEMO_.

    Raises:
        SettingsError: something is wrong; it lists every mistake.
    """
    flags, environment = read_flags(words, _SETTINGS), read_environment(environ, _SETTINGS, DEMO_PREFIX)
    resolved = resolve(environment, flags)
    problems = (*flags.problems, *environment.problems, *resolved.problems)
    if problems:
        raise SettingsError(problems)
    return DemoSettings.model_validate(
        {s.field: resolved.values[s.name].value for s in _SETTINGS if s.name in resolved.values}
    )
