"""The settings of `qobserve dashboards export`: a table of its own, read in the same way as that of the exporter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from qobserve.config import kinds
from qobserve.config.environment import read_environment
from qobserve.config.flags import read_flags
from qobserve.config.published import RUNBOOKS
from qobserve.config.resolve import resolve
from qobserve.config.setting import DASHBOARDS_PREFIX, Setting
from qobserve.config.shown import quoted_name
from qobserve.config.values import Values
from qobserve.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class DashboardsSettings(Values):
    """What the export can be told; without `out` it prints."""

    out: Path | None = None
    format: str = "json"
    bull_board_url: str | None = None
    runbook_base_url: str = RUNBOOKS


def _web_address(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        raise ValueError(f"{quoted_name(text)} is no address that begins with http:// or https://")
    return text


_ADDRESS = kinds.Kind(metavar="URL", parse=_web_address)

SETTINGS = (
    Setting(
        name="out",
        kind=kinds.Kind(metavar="DIR", parse=Path),
        owner=DashboardsSettings,
        field="out",
        help="Folder to write a file for each dashboard into; without it they are printed.",
        prefix=DASHBOARDS_PREFIX,
    ),
    Setting(
        name="format",
        kind=kinds.one_of("json", "configmap"),
        owner=DashboardsSettings,
        field="format",
        help="What is written: Grafana's JSON, or Kubernetes ConfigMaps labelled for Grafana's sidecar.",
        prefix=DASHBOARDS_PREFIX,
    ),
    Setting(
        name="bull-board-url",
        kind=_ADDRESS,
        owner=DashboardsSettings,
        field="bull_board_url",
        help="Where Bull Board is served, for links to queues; without it there are none.",
        prefix=DASHBOARDS_PREFIX,
    ),
    Setting(
        name="runbook-base-url",
        kind=_ADDRESS,
        owner=DashboardsSettings,
        field="runbook_base_url",
        help="Folder of the runbooks, for links to them.",
        prefix=DASHBOARDS_PREFIX,
    ),
)


def dashboards_settings(words: Sequence[str], environ: Mapping[str, str]) -> DashboardsSettings:
    """The settings from a command line's words and the variables that begin with QOBSERVE_DASHBOARDS_.

    Raises:
        SettingsError: something is wrong; it lists every mistake.
    """
    flags, environment = read_flags(words, SETTINGS), read_environment(environ, SETTINGS, DASHBOARDS_PREFIX)
    resolved = resolve(environment, flags)
    problems = (*flags.problems, *environment.problems, *resolved.problems)
    if problems:
        raise SettingsError(problems)
    return DashboardsSettings.model_validate(
        {s.field: resolved.values[s.name].value for s in SETTINGS if s.name in resolved.values}
    )
