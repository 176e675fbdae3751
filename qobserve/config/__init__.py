"""Settings from flags, the environment (QOBSERVE_*) and a YAML file; every mistake of all three is reported at once."""

from __future__ import annotations

from qobserve.config.load import load_settings
from qobserve.config.redis_url import redacted, url_database
from qobserve.config.settings import (
    COLLECTOR_NAMES,
    DEFAULT_TARGET,
    DiscoverySettings,
    LogSettings,
    QueueSettings,
    Settings,
    Slo,
    SloRule,
    TargetSettings,
    WebSettings,
)

__all__ = [
    "COLLECTOR_NAMES",
    "DEFAULT_TARGET",
    "DiscoverySettings",
    "LogSettings",
    "QueueSettings",
    "Settings",
    "Slo",
    "SloRule",
    "TargetSettings",
    "WebSettings",
    "load_settings",
    "redacted",
    "url_database",
]
