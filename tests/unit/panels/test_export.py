"""Dashboards as files."""

from __future__ import annotations

import json

import yaml

from qobserve.panels.board import About, board
from qobserve.panels.export import as_configmap, as_json
from qobserve.panels.links import Places

BOARD = board(About(uid="u-é", title="Ü", purpose="P"), [], [])
PLACES = Places(runbooks="https://wiki")


def test_the_json_is_sorted_and_ends_with_a_line_end() -> None:
    text = as_json(BOARD, PLACES)
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert '"title": "Ü"' in text


def test_a_configmap_carries_the_json_and_the_label_of_the_sidecar() -> None:
    manifest = yaml.safe_load(as_configmap(BOARD, PLACES))
    assert manifest == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "u-é", "labels": {"grafana_dashboard": "1"}},
        "data": {"u-é.json": as_json(BOARD, PLACES)},
    }


def test_several_configmaps_follow_each_other() -> None:
    both = as_configmap(BOARD, PLACES) * 2
    assert len(list(yaml.safe_load_all(both))) == 2


def test_the_json_in_a_configmap_can_be_read_line_by_line() -> None:
    assert '\n      "title": "Ü",\n' in as_configmap(BOARD, PLACES)
