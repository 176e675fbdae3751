"""The table of settings: nothing twice, nothing missing, and the reference that is made from it."""

from __future__ import annotations

from qobserve.config.following import FollowSettings, MetricsSettings, TracingSettings
from qobserve.config.reference import settings_reference
from qobserve.config.settings import (
    DiscoverySettings,
    LogSettings,
    QueueSettings,
    Settings,
    Slo,
    TargetSettings,
    WebSettings,
)
from qobserve.config.table import BY_NAME, SETTINGS

# Filled from the file as a whole or by the program itself, not by a setting of their own.
COMPOSED = {(Settings, name) for name in ("targets", "web", "slo", "slo_rules", "log", "warnings")} | {
    *((Settings, name) for name in ("follow", "metrics", "tracing")),
    (TargetSettings, "discovery"),
    (TargetSettings, "queues"),
}


def test_no_name_and_no_variable_stands_for_two_settings() -> None:
    assert len(BY_NAME) == len({setting.variable for setting in SETTINGS}) == len(SETTINGS)


def test_every_value_can_be_set() -> None:
    models = (Settings, TargetSettings, DiscoverySettings, QueueSettings, WebSettings, LogSettings, Slo)
    models += (FollowSettings, MetricsSettings, TracingSettings)
    fields = {(model, name) for model in models for name in model.model_fields}
    assert {(setting.owner, setting.field) for setting in SETTINGS} == fields - COMPOSED


def test_no_switch_reads_like_the_negative_of_another() -> None:
    assert not [setting.name for setting in SETTINGS if setting.name.startswith("no-")]


def test_the_reference_has_a_row_for_every_setting() -> None:
    rows = settings_reference().splitlines()
    assert len(rows) == 2 + len(SETTINGS)
    assert rows[2] == (
        "| `--redis.url URL` | `QOBSERVE_REDIS_URL` | `redis://127.0.0.1:6379/0` "
        "| The Redis to read: redis://, rediss:// (TLS) or unix://. |"
    )
    assert (
        "| none, so that `ps` cannot show it | `QOBSERVE_REDIS_PASSWORD` |  | Password; wins over the URL's. |"
    ) in rows
    assert (
        "| `--once` `--no-once` | `QOBSERVE_ONCE` | `false` "
        "| Print one scrape of the first target to standard output and exit. Not in the file. |"
    ) in rows
