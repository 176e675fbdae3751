"""The rules on how many jobs start late."""

from __future__ import annotations

import re

import pytest
from golden.page import FULL, SNAPSHOT

from qobserve.alerts.burn_rate import BUCKET, FAST, SLOW, group, late, lower_bound
from qobserve.alerts.options import AlertOptions, Terms
from qobserve.alerts.rule import Record
from qobserve.config import MetricsSettings
from qobserve.metrics.collection import Collection
from qobserve.metrics.latency import WAIT
from qobserve.metrics.tally import Tally
from qobserve.model.run import Counted

DEFAULT = MetricsSettings().wait_buckets


def recorded(bounds: tuple[float, ...]) -> dict[str, str]:
    rules = group(Terms(options=AlertOptions(), wait_bounds=bounds)).rules
    return {rule.name: rule.expr for rule in rules if isinstance(rule, Record)}


@pytest.mark.parametrize(
    ("wait", "bound"), [(30, 30), (45, 30), (59.99, 30), (60, 60), (1e9, 21600), (0.01, 0.01), (0.009, None)]
)
def test_a_promise_is_told_by_its_bound_or_the_next_lower_one(wait: float, bound: float | None) -> None:
    assert lower_bound(wait, DEFAULT) == bound


def test_every_promise_has_one_bucket() -> None:
    wait = "queue:bullmq_wait_objective_seconds:value"
    assert recorded((0.5, 30.0))[BUCKET].splitlines() == [
        f'label_replace({wait} >= 0.5 < 30, "le", "0.5", "", "")',
        f'or label_replace({wait} >= 30, "le", "30.0", "", "")',
    ]
    assert recorded((2_500_000.0,))[BUCKET] == f'label_replace({wait} >= 2500000, "le", "2.5e+06", "", "")'


@pytest.mark.parametrize("bounds", [DEFAULT, (0.001, 7.0, 86400.0, 2_500_000.0)])
def test_bounds_are_written_as_the_exporter_prints_them(bounds: tuple[float, ...]) -> None:
    tally = Tally(MetricsSettings(wait_buckets=bounds))
    tally.take(Counted(queue=FULL.queue, kind="added", count=1))
    samples = Collection(enabled={}, slo=lambda _: None, tally=tally).collect(SNAPSHOT)
    (of_wait,) = [each for each in samples if each.family is WAIT]
    printed = re.findall(r'le="([^"]+)"', "".join(of_wait.blocks))
    named = re.findall(r'"le", "([^"]+)"', recorded(bounds)[BUCKET])
    assert [*named, "+Inf"] == printed


def test_every_window_of_the_alerts_is_recorded() -> None:
    windows = {window for burn in (*FAST, *SLOW) for window in (burn.long, burn.short)}
    assert {late(window) for window in windows} <= recorded(DEFAULT).keys()
    assert all(burn.short * 12 == burn.long for burn in (*FAST, *SLOW))
