"""Every alert has a case in which it fires and one in which it stays quiet, for `promtool test rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml
from repo.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.alerts.rule import Alert

FILES = sorted((ROOT / "dashboards" / "alerts").rglob("*.test.yml"))


def checks() -> Iterator[tuple[str, bool]]:
    """For each check the alert, and whether it is to fire."""
    for file in FILES:
        for test in yaml.safe_load(file.read_text())["tests"]:
            for check in test["alert_rule_test"]:
                yield check["alertname"], bool(check["exp_alerts"])


def test_each_alert_fires_and_is_quiet(all_alerts: dict[str, Alert]) -> None:
    assert {name for name, fires in checks() if fires} == all_alerts.keys()
    assert {name for name, fires in checks() if not fires} == all_alerts.keys()


def test_cases_have_names_of_their_own() -> None:
    for file in FILES:
        names = [test["name"] for test in yaml.safe_load(file.read_text())["tests"]]
        assert len(set(names)) == len(names), file
