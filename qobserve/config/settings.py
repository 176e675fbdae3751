"""The settings as frozen values, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - pydantic resolves the annotations of its models at run time
from fnmatch import fnmatchcase
from pathlib import Path  # noqa: TC003 - as above
from typing import TYPE_CHECKING, Literal

from pydantic import Field, SecretStr  # noqa: TC002 - SecretStr is in annotations, as above

from qobserve.config.following import FollowSettings, MetricsSettings, TracingSettings
from qobserve.config.shown import redacted
from qobserve.config.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator

COLLECTOR_NAMES = (
    "depth",
    "age",
    "throughput",
    "latency",
    "drain",
    "events",
    "workers",
    "limits",
    "schedulers",
    "payload",
    "redis_safety",
    "slo",
    "info",
)
DEFAULT_TARGET = "default"


class DiscoverySettings(Values):
    """How queues are found: by SCAN in the background. `interval` is in seconds; no `prefixes` means all of them."""

    enabled: bool = True
    interval: float = 10.0
    prefixes: tuple[str, ...] = ()
    scan_count: int = 1000


class QueueSettings(Values):
    """Which queues are watched.

    `static` names queues as `prefix:name` that are watched without being discovered. `include` and `exclude` are globs
    that are held against the queue's name and against `prefix:name`; no `include` means every queue.
    """

    static: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def wanted(self, prefix: str, name: str) -> bool:
        """Whether the globs let this queue through."""
        return (not self.include or _matches(self.include, prefix, name)) and not _matches(self.exclude, prefix, name)


class TargetSettings(Values):
    """One Redis and what to read from it.

    `user`, `password` and `database` win over what the URL says. `password` and `sentinel_password` already hold what
    stands in `password_file` and `sentinel_password_file`. Durations are seconds; `timeout` bounds a whole snapshot.
    `workers_max_clients` and `schedulers_limit` bound the collectors of those names, the same for every target.
    """

    url: str = "redis://127.0.0.1:6379/0"
    user: str | None = None
    password: SecretStr | None = None
    password_file: Path | None = None
    database: int | None = None
    tls_ca_cert_file: Path | None = None
    tls_client_cert_file: Path | None = None
    tls_client_key_file: Path | None = None
    tls_skip_verification: bool = False
    sentinel: tuple[str, ...] = ()
    sentinel_master: str | None = None
    sentinel_user: str | None = None
    sentinel_password: SecretStr | None = None
    sentinel_password_file: Path | None = None
    sentinel_tls: bool = False
    cluster: bool = False
    read_from: Literal["primary", "replica"] = "primary"
    connect_timeout: float = 2.0
    timeout: float = 8.0
    discovery: DiscoverySettings = DiscoverySettings()
    queues: QueueSettings = QueueSettings()
    workers_max_clients: int = 10_000
    schedulers_limit: int = 20

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        for name, value in super().__repr_args__():
            yield name, redacted(self.url) if name == "url" else value


class WebSettings(Values):
    """Where and how HTTP is served; `timeout_offset` (seconds) is taken off the scrape timeout of Prometheus."""

    listen_addresses: tuple[str, ...] = (":10538",)
    telemetry_path: str = "/metrics"
    config_file: Path | None = None
    timeout_offset: float = 0.5


class LogSettings(Values):
    """How much is logged, and in which form."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["logfmt", "json"] = "logfmt"


class Slo(Values):
    """A promise about one queue: this share of its jobs (`objective`, 0 to 1) starts within `wait` seconds."""

    wait: float | None = None
    objective: float | None = None


class SloRule(Values):
    """The promise for the queues that the glob `pattern` matches; what it leaves open is the default's."""

    pattern: str
    slo: Slo


class Settings(Values):
    """Everything that the exporter can be told.

    `targets` holds each Redis under its alias; the one without a name of its own is called `default`.
    `warnings` are sentences for the log about settings that work but should not be given that way.
    """

    targets: Mapping[str, TargetSettings] = Field(default_factory=lambda: {DEFAULT_TARGET: TargetSettings()})
    web: WebSettings = WebSettings()
    collectors: Mapping[str, bool] = Field(default_factory=lambda: dict.fromkeys(COLLECTOR_NAMES, True))
    slo: Slo = Slo()
    slo_rules: tuple[SloRule, ...] = ()
    follow: FollowSettings = FollowSettings()
    metrics: MetricsSettings = MetricsSettings()
    tracing: TracingSettings = TracingSettings()
    log: LogSettings = LogSettings()
    once: bool = False
    config_file: Path | None = None
    config_check: bool = False
    warnings: tuple[str, ...] = ()

    def slo_for(self, prefix: str, name: str) -> Slo | None:
        """The promise for this queue, by the first rule that matches it, else the default; None when there is none."""
        rule = next((rule.slo for rule in self.slo_rules if _matches((rule.pattern,), prefix, name)), Slo())
        wait = self.slo.wait if rule.wait is None else rule.wait
        objective = self.slo.objective if rule.objective is None else rule.objective
        return None if wait is None and objective is None else Slo(wait=wait, objective=objective)


def _matches(patterns: tuple[str, ...], prefix: str, name: str) -> bool:
    return any(fnmatchcase(name, pattern) or fnmatchcase(f"{prefix}:{name}", pattern) for pattern in patterns)
