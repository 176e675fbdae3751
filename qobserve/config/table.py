"""The table of all settings: flags, environment variables, YAML keys and their reference are made from it."""

from __future__ import annotations

from qobserve.config import kinds
from qobserve.config.following_table import FOLLOWING_TABLE
from qobserve.config.setting import Setting
from qobserve.config.settings import COLLECTOR_NAMES, LogSettings, Settings, Slo, TargetSettings, WebSettings
from qobserve.config.target_table import TARGET_TABLE


def _collector(name: str) -> Setting:
    return Setting(
        name=f"collector.{name.replace('_', '-')}",
        kind=kinds.BOOLEAN,
        owner=Settings,
        field="collectors",
        help=f"Whether the collector {name} runs.",
    )


SETTINGS: tuple[Setting, ...] = (
    *TARGET_TABLE,
    Setting(
        name="web.listen-address",
        kind=kinds.LISTEN_ADDRESSES,
        owner=WebSettings,
        field="listen_addresses",
        help="Address to serve HTTP on: :PORT, HOST:PORT or [IPv6]:PORT; repeatable.",
        reload=False,
    ),
    Setting(
        name="web.telemetry-path",
        kind=kinds.TELEMETRY_PATH,
        owner=WebSettings,
        field="telemetry_path",
        help="Path of the metrics page.",
        reload=False,
    ),
    Setting(
        name="web.config.file",
        kind=kinds.FILE,
        owner=WebSettings,
        field="config_file",
        help="File with TLS and basic authentication, as Prometheus's exporter-toolkit reads it.",
        reload=False,
    ),
    Setting(
        name="web.timeout-offset",
        kind=kinds.DURATION,
        owner=WebSettings,
        field="timeout_offset",
        help="Time that is taken off the scrape timeout that Prometheus sends.",
    ),
    *(_collector(name) for name in COLLECTOR_NAMES),
    Setting(
        name="collector.workers.max-clients",
        kind=kinds.within(0, 10_000_000),
        owner=TargetSettings,
        field="workers_max_clients",
        help="Above this number of connections Redis is not asked for the list of them, and workers are absent.",
    ),
    Setting(
        name="collector.schedulers.limit",
        kind=kinds.within(1, 10_000),
        owner=TargetSettings,
        field="schedulers_limit",
        help="Job schedulers that are shown per queue, soonest first.",
    ),
    Setting(
        name="slo.wait",
        kind=kinds.POSITIVE_DURATION,
        owner=Slo,
        field="wait",
        help="Time within which a job should start.",
    ),
    Setting(
        name="slo.objective",
        kind=kinds.RATIO,
        owner=Slo,
        field="objective",
        help="Share of the jobs that should start in time: 0.995 or 99.5%.",
    ),
    *FOLLOWING_TABLE,
    Setting(
        name="log.level",
        kind=kinds.one_of("debug", "info", "warning", "error"),
        owner=LogSettings,
        field="level",
        help="Least severe messages to log.",
    ),
    Setting(
        name="log.format",
        kind=kinds.one_of("logfmt", "json"),
        owner=LogSettings,
        field="format",
        help="Form of a log line.",
    ),
    Setting(
        name="once",
        kind=kinds.BOOLEAN,
        owner=Settings,
        field="once",
        help="Print one scrape of the first target to standard output and exit.",
        reload=False,
        yaml=False,
    ),
    Setting(
        name="config.file",
        kind=kinds.FILE,
        owner=Settings,
        field="config_file",
        help="YAML file with settings; relative paths in it start at its folder; read again at a reload.",
        reload=False,
        yaml=False,
    ),
    Setting(
        name="config.check",
        kind=kinds.BOOLEAN,
        owner=Settings,
        field="config_check",
        help="Check all settings, connect nowhere and exit.",
        reload=False,
        yaml=False,
    ),
)
BY_NAME = {setting.name: setting for setting in SETTINGS}
