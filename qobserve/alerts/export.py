"""The rules as text: a file of rules for Prometheus, or a PrometheusRule for its operator in Kubernetes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

import yaml

from qobserve.alerts import SUBJECTS
from qobserve.alerts.annotations import annotated
from qobserve.alerts.burn_rate import lower_bound
from qobserve.alerts.options import Terms
from qobserve.alerts.promql import duration
from qobserve.alerts.rule import Record

if TYPE_CHECKING:
    from qobserve.alerts.options import AlertOptions
    from qobserve.alerts.rule import Group, Rule
    from qobserve.config import Settings

Document: TypeAlias = "dict[str, Document] | list[Document] | str"

_HEAD = "# Written by `qobserve alerts export`.\n"


class Format(StrEnum):
    """Who reads the rules."""

    PROMETHEUS = "prometheus"
    PROMETHEUSRULE = "prometheusrule"

    @property
    def file_name(self) -> str:
        """What the file is called in a folder."""
        return "qobserve.rules.yml" if self is Format.PROMETHEUS else "qobserve.prometheusrule.yml"


def groups(settings: Settings, options: AlertOptions) -> tuple[Group, ...]:
    """All rules; a group that has none is left out."""
    terms = Terms(options=options, wait_bounds=settings.metrics.wait_buckets)
    built = (group(terms) for group in SUBJECTS)
    return tuple(group for group in built if group.rules)


def text(settings: Settings, options: AlertOptions, format_: Format) -> str:
    """The rules as a YAML document."""
    rules: Document = {"groups": [_group(group, options) for group in groups(settings, options)]}
    if format_ is Format.PROMETHEUSRULE:
        rules = {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {"name": "qobserve", "labels": {"app.kubernetes.io/name": "qobserve"}},
            "spec": rules,
        }
    return _HEAD + yaml.dump(rules, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


def rounded_promises(settings: Settings, options: AlertOptions) -> tuple[str, ...]:
    """A sentence for each promise that no bound of the histogram of waits equals."""
    promises = {f"slo.queues.{rule.pattern}.wait": rule.slo.wait for rule in settings.slo_rules}
    promises |= {"slo.wait": settings.slo.wait}
    if settings.slo.wait is None:
        promises["the default objective"] = options.default_wait
    bounds = settings.metrics.wait_buckets
    return tuple(
        _rounded(name, wait, lower_bound(wait, bounds))
        for name, wait in promises.items()
        if wait is not None and wait not in bounds
    )


def _rounded(name: str, wait: float, bound: float | None) -> str:
    what = (
        "no budget of late jobs can be kept for it, only the age of the oldest one is watched"
        if bound is None
        else f"jobs count as late from the next lower one on, {duration(bound)}"
    )
    return f"{name} ({duration(wait)}) is no bound of metrics.wait-buckets: {what}; add it to the bounds"


def _group(group: Group, options: AlertOptions) -> Document:
    interval: dict[str, Document] = {} if group.interval is None else {"interval": duration(group.interval)}
    return {"name": group.name, **interval, "rules": [_rule(rule, options) for rule in group.rules]}


def _rule(rule: Rule, options: AlertOptions) -> Document:
    if isinstance(rule, Record):
        return {"record": rule.name, "expr": rule.expr}
    hold: dict[str, Document] = {"for": duration(rule.hold)} if rule.hold else {}
    texts: dict[str, Document] = {**annotated(rule, options)}
    return {
        "alert": rule.name,
        "expr": rule.expr,
        **hold,
        "labels": {"severity": str(rule.severity)},
        "annotations": texts,
    }


class _Dumper(yaml.SafeDumper):
    """Writes an expression of several lines as such."""


def _represent(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _represent)
