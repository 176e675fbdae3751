"""`qobserve dashboards`: the Grafana dashboards, as files or as ConfigMaps."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qobserve.cli.dashboards_settings import SETTINGS, dashboards_settings
from qobserve.cli.output import put
from qobserve.cli.settings_command import SettingsCommand
from qobserve.errors import MissingExtra, QobserveError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.cli.dashboards_settings import DashboardsSettings

SUFFIX = ".dashboard.py"
_NAMES = {"json": "{name}.json", "configmap": "{name}.yaml"}


def definitions() -> list[Path]:
    """The files that say what is drawn: in the installed package, or in a working copy beside it."""
    package = Path(__file__).resolve().parents[1]
    folders = (package / "dashboards", package.parent / "dashboards")
    return next((found for folder in folders if (found := sorted(folder.glob(f"*{SUFFIX}")))), [])


def rendered(settings: DashboardsSettings) -> Iterator[tuple[str, str]]:
    """The name of each dashboard, and its text in the format that was asked for.

    Raises:
        MissingExtra: grafanalib is not installed.
    """
    # Imported here so that the other commands do without grafanalib.
    try:
        from qobserve.panels.export import as_configmap, as_json  # noqa: PLC0415 - as above
        from qobserve.panels.links import Places  # noqa: PLC0415 - as above
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in {"attr", "grafanalib"}:
            raise
        raise MissingExtra("qobserve dashboards", "dashboards") from exc
    write = {"json": as_json, "configmap": as_configmap}[settings.format]
    places = Places(runbooks=settings.runbook_base_url, bull_board=settings.bull_board_url)
    for path in definitions():
        yield path.name.removesuffix(SUFFIX), write(runpy.run_path(str(path))["dashboard"], places)


def export(words: tuple[str, ...]) -> None:
    """Print the Grafana dashboards, or write each into a file of a folder.

    They need Grafana 10 or later and a Prometheus data source; what they need else stands in docs/dashboards.md.
    """
    settings = dashboards_settings(words, os.environ)
    if settings.out is None:
        put("".join(text for _, text in rendered(settings)))
        return
    for name, text in rendered(settings):
        _write(settings.out / _NAMES[settings.format].format(name=name), text)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise QobserveError(f"cannot write {path}: {(exc.strerror or str(exc)).lower()}") from exc


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Grafana dashboards of the metrics of `qobserve exporter`."""


command.add_command(SettingsCommand("export", SETTINGS, callback=export))
