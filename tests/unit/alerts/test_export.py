"""The rules as text."""

from __future__ import annotations

import re

import pytest
import yaml
from repo.tree import ROOT

from qobserve.alerts.export import Format, groups, rounded_promises, text
from qobserve.alerts.options import AlertOptions
from qobserve.config import MetricsSettings, Settings, Slo, SloRule

FOLDER = ROOT / "dashboards" / "alerts"
LENGTH = {"BullMQBacklogLong", "BullMQFailedJobsMany"}


def names(options: AlertOptions) -> set[str]:
    return {alert.name for group in groups(Settings(), options) for alert in group.alerts}


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("qobserve.rules.yml", AlertOptions()),
        ("with-length/qobserve.rules.yml", AlertOptions(with_length_alerts=True)),
    ],
)
def test_what_is_committed_is_what_is_written_by_default(path: str, options: AlertOptions) -> None:
    written = text(Settings(), options, Format.PROMETHEUS)
    assert (FOLDER / path).read_text() == written, "it is stale: run make dashboards"


def test_lengths_alert_only_where_that_is_asked_for() -> None:
    assert names(AlertOptions()).isdisjoint(LENGTH)
    assert names(AlertOptions(with_length_alerts=True)) - names(AlertOptions()) == LENGTH
    assert "qobserve-length" not in text(Settings(), AlertOptions(), Format.PROMETHEUS)


def test_both_formats_hold_the_same_rules() -> None:
    options = AlertOptions(with_length_alerts=True)
    plain = yaml.safe_load(text(Settings(), options, Format.PROMETHEUS))
    resource = yaml.safe_load(text(Settings(), options, Format.PROMETHEUSRULE))
    assert resource["spec"] == plain
    assert (resource["apiVersion"], resource["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert resource["metadata"]["name"] == "qobserve"


def test_a_rule_reads_as_it_was_built() -> None:
    (first, *_) = groups(Settings(), AlertOptions())
    written = yaml.safe_load(text(Settings(), AlertOptions(), Format.PROMETHEUS))["groups"][0]
    assert (written["name"], written.keys()) == (first.name, {"name", "rules"})
    for rule, as_text in zip(first.rules, written["rules"], strict=True):
        assert as_text["expr"] == rule.expr
    assert written["rules"][-1]["labels"] == {"severity": "critical"}
    assert written["rules"][-1]["for"] == "1m"
    burning = yaml.safe_load(text(Settings(), AlertOptions(), Format.PROMETHEUS))["groups"][1]
    assert burning["interval"] == "1m"


def test_every_rule_is_about_the_job() -> None:
    written = text(Settings(), AlertOptions(job="queues", with_length_alerts=True), Format.PROMETHEUS)
    assert 'job="queues"' in written
    assert 'job="qobserve"' not in written
    selectors = re.findall(r"(?<![:\w])(?:up|bullmq_\w+)\{([^}]*)\}", written)
    assert len(selectors) > 40
    assert [each for each in selectors if not each.startswith('job="queues"')] == []


def test_thresholds_are_those_of_the_options() -> None:
    options = AlertOptions(default_wait=42, default_objective=0.875, memory_ratio=0.75, stuck_window=90)
    written = text(Settings(), options, Format.PROMETHEUS)
    for part in ("* 0 + 42\n", "* 0 + 0.875\n", "> 0.75\n", "[90s]"):
        assert part in written


def test_no_promise_needs_other_rules() -> None:
    """They are generic: what is promised is read from the exporter's own metrics."""
    promised = Settings(slo=Slo(wait=30, objective=0.999), slo_rules=(SloRule(pattern="a*", slo=Slo(wait=5)),))
    options = AlertOptions()
    assert text(promised, options, Format.PROMETHEUS) == text(Settings(), options, Format.PROMETHEUS)


def test_promises_that_no_bucket_has_as_its_bound_are_named() -> None:
    settings = Settings(
        slo=Slo(wait=45),
        slo_rules=(
            SloRule(pattern="fine-*", slo=Slo(wait=60)),
            SloRule(pattern="open-*", slo=Slo(objective=0.9)),
            SloRule(pattern="fast-*", slo=Slo(wait=0.005)),
        ),
    )
    assert rounded_promises(settings, AlertOptions()) == (
        (
            "slo.queues.fast-*.wait (5ms) is no bound of metrics.wait-buckets: no budget of late jobs can be kept for "
            "it, only the age of the oldest one is watched; add it to the bounds"
        ),
        (
            "slo.wait (45s) is no bound of metrics.wait-buckets: jobs count as late from the next lower one on, 30s; "
            "add it to the bounds"
        ),
    )


def test_the_default_promise_counts_only_where_there_is_no_other() -> None:
    buckets = MetricsSettings(wait_buckets=(1.0, 60.0))
    assert [each.partition(" (")[0] for each in rounded_promises(Settings(metrics=buckets), AlertOptions())] == [
        "the default objective"
    ]
    assert rounded_promises(Settings(metrics=buckets, slo=Slo(wait=60)), AlertOptions()) == ()
    assert rounded_promises(Settings(), AlertOptions()) == ()
