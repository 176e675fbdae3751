"""`qobserve alerts`: the alert rules, for Prometheus or its operator."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import click

from qobserve.alerts.export import Format, rounded_promises, text
from qobserve.alerts.options import GRAFANA, RUNBOOKS, AlertOptions
from qobserve.cli.output import put
from qobserve.config.load import load_settings
from qobserve.config.setting import ALERTS_PREFIX
from qobserve.config.shown import quoted_address, quoted_name
from qobserve.errors import QobserveError


@click.group("alerts", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def command() -> None:
    """Alert rules on the age of jobs and on what makes them late or lost."""


def _address(_context: click.Context, _option: click.Parameter, value: str) -> str:
    try:
        parts = urlsplit(value)
    except ValueError as exc:
        raise click.BadParameter(f"{quoted_address(value)} is not an address: {exc}") from exc
    # What Prometheus would take for a template or a variable of Grafana is no part of an address either.
    if parts.scheme not in {"http", "https"} or not parts.hostname or set(value) & set("{}?# "):
        raise click.BadParameter(f"{quoted_address(value)} is not an address: write https://HOST/PATH")
    return value


def _job(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if not value:
        raise click.BadParameter("it is empty: write the job_name of Prometheus's configuration")
    return value


@command.command("export")
@click.option(
    "--format",
    "format_",
    type=click.Choice([str(each) for each in Format]),
    default=str(Format.PROMETHEUS),
    show_default=True,
    envvar=ALERTS_PREFIX + "FORMAT",
    show_envvar=True,
    help="A file of rules for Prometheus, or a PrometheusRule for its operator in Kubernetes.",
)
@click.option(
    "--config.file",
    "config_file",
    metavar="FILE",
    help="YAML file with the settings of the exporter; its variables count too.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    envvar=ALERTS_PREFIX + "OUT",
    show_envvar=True,
    help="Folder to write the rules to; without it they go to standard output.",
)
@click.option(
    "--job",
    default="qobserve",
    show_default=True,
    callback=_job,
    metavar="NAME",
    envvar=ALERTS_PREFIX + "JOB",
    show_envvar=True,
    help="Name of the scrape job.",
)
@click.option(
    "--runbook-base-url",
    default=RUNBOOKS,
    show_default=True,
    callback=_address,
    metavar="URL",
    envvar=ALERTS_PREFIX + "RUNBOOK_BASE_URL",
    show_envvar=True,
    help="Where the runbooks are kept, a page <Alert>.md for each alert.",
)
@click.option(
    "--dashboard-base-url",
    default=GRAFANA,
    show_default=True,
    callback=_address,
    metavar="URL",
    envvar=ALERTS_PREFIX + "DASHBOARD_BASE_URL",
    show_envvar=True,
    help="Where Grafana is.",
)
@click.option(
    "--with-length-alerts/--no-with-length-alerts",
    default=False,
    show_default=True,
    envvar=ALERTS_PREFIX + "WITH_LENGTH_ALERTS",
    show_envvar=True,
    help="Whether there are alerts on how many jobs there are, too.",
)
def export(  # noqa: PLR0913 - click hands over one argument for each option
    *,
    format_: str,
    config_file: str | None,
    out: Path | None,
    job: str,
    runbook_base_url: str,
    dashboard_base_url: str,
    with_length_alerts: bool,
) -> None:
    """Write recording and alerting rules.

    They follow what the exporter is told to promise (slo.*) by the metrics that it exports; of its settings only
    metrics.wait-buckets is built in, so that changed bounds need a new export.
    """
    options = AlertOptions(
        job=job,
        runbook_base_url=runbook_base_url,
        dashboard_base_url=dashboard_base_url,
        with_length_alerts=with_length_alerts,
    )
    words = () if config_file is None else ("--config.file", config_file)
    settings = load_settings(words, os.environ)
    for sentence in rounded_promises(settings, options):
        click.echo(f"qobserve: {sentence}", err=True)
    rules = text(settings, options, Format(format_))
    if out is None:
        put(rules)
    else:
        _write(out, Format(format_).file_name, rules)


def _write(folder: Path, name: str, rules: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(rules, encoding="utf-8", newline="\n")
    except OSError as exc:
        raise QobserveError(f"cannot write {quoted_name(str(folder / name))}: {exc.strerror}") from exc
