"""Dashboards as files: Grafana's JSON, and Kubernetes ConfigMaps that Grafana's sidecar picks up."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import yaml

from qobserve.panels.grafana import plain
from qobserve.panels.links import resolved

if TYPE_CHECKING:
    from qobserve.panels.grafana import Board
    from qobserve.panels.links import Json, Places

SIDECAR_LABEL = "grafana_dashboard"
"""What the sidecar of Grafana's Helm chart looks for, unless told otherwise."""


def as_json(dashboard: Board, places: Places) -> str:
    """The dashboard as Grafana imports or provisions it."""
    return json.dumps(resolved(plain(dashboard), places), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def as_configmap(dashboard: Board, places: Places) -> str:
    """A ConfigMap that holds it; each has one of its own, as all together are larger than `kubectl apply` takes."""
    uid = str(dashboard.uid)
    manifest: Json = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": uid, "labels": {SIDECAR_LABEL: "1"}},
        "data": {f"{uid}.json": _Block(as_json(dashboard, places))},
    }
    return "---\n" + yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


class _Block(str):
    """A text that YAML shows line by line."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes blocks as such."""


def _block(dumper: yaml.SafeDumper, text: _Block) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style="|")


_Dumper.add_representer(_Block, _block)
