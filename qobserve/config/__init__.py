"""The settings as values; `qobserve.config.load` makes them from flags, the environment and a YAML file.

Importing this package reads nothing and loads neither YAML nor TLS, so that pure parts can name its types.
"""

from __future__ import annotations

from qobserve.config.following import FollowSettings, MetricsSettings, TracingSettings
from qobserve.config.redis_url import url_database
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
from qobserve.config.shown import redacted

__all__ = [
    "COLLECTOR_NAMES",
    "DEFAULT_TARGET",
    "DiscoverySettings",
    "FollowSettings",
    "LogSettings",
    "MetricsSettings",
    "QueueSettings",
    "Settings",
    "Slo",
    "SloRule",
    "TargetSettings",
    "TracingSettings",
    "WebSettings",
    "redacted",
    "url_database",
]
