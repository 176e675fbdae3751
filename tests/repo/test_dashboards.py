"""The dashboards: committed as they are defined, drawn without flaw, and about metrics that exist."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from rig.boards import BUILT_IN, FOLDER, NAMES, VARIABLE, definition, document, expressions, panels
from rig.programs import missing

from qobserve.alerts import SUBJECTS
from qobserve.alerts.options import AlertOptions, Terms
from qobserve.config.published import RUNBOOKS
from qobserve.metrics import COLLECTORS
from qobserve.metrics.exporter import BUILD_INFO, OF_SCRAPE
from qobserve.metrics.process import process_samples
from qobserve.panels import foreign
from qobserve.panels.export import as_json
from qobserve.panels.links import BULL_BOARD, RUNBOOK, Places
from qobserve.panels.variables import DEFAULT_OBJECTIVE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAMILIES = {family.name: family for collector in COLLECTORS for family in collector.families} | {
    family.name: family for family in (*OF_SCRAPE, BUILD_INFO, *foreign.OF_PROMETHEUS, *foreign.OF_PROCESS)
}
OF_GRAFANA = {*BUILT_IN, "__all", "__url_time_range", "__field", "__data"}
COLUMNS = 24
NOT_DRAWN: dict[str, str] = {}
EXPRESSIONS = list(expressions())
VALUES = {"job": "qobserve", "target": ".*", "prefix": "bull", "queue": "mail", "objective": "300"}


def strings(value: object) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def variables(name: str) -> set[str]:
    """What the variables of a dashboard are called."""
    return {variable["name"] for variable in document(name)["templating"]["list"]}


def metrics(expr: str) -> set[str]:
    """The names in front of selectors; those of a histogram without what its series end in."""
    found = re.findall(r"([a-zA-Z_:][\w:]*)\{", expr)
    return {re.sub(r"_(bucket|count|sum)$", "", name) if name not in FAMILIES else name for name in found}


def test_what_is_committed_is_what_is_defined() -> None:
    places = Places(runbooks=RUNBOOKS)
    stale = [name for name in NAMES if as_json(definition(name), places) != (FOLDER / f"json/{name}.json").read_text()]
    assert stale == [], "run `make dashboards`"
    assert sorted(path.stem for path in (FOLDER / "json").iterdir()) == NAMES


def test_there_are_four_with_addresses_that_stay() -> None:
    assert {document(name)["uid"] for name in NAMES} == {
        "qobserve-overview",
        "qobserve-queue",
        "qobserve-chaos",
        "qobserve-exporter",
    }
    assert len({document(name)["title"] for name in NAMES}) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_dashboard_can_be_found_and_pointed_at_a_queue(name: str) -> None:
    board = document(name)
    assert {"bullmq", "qobserve"} <= set(board["tags"])
    assert board["description"].endswith(".")
    assert {"datasource", "job", "prefix", "queue"} <= variables(name)


@pytest.mark.parametrize("name", NAMES)
def test_panels_have_numbers_and_titles_of_their_own(name: str) -> None:
    everything = document(name)["panels"]
    for key in ("id", "title"):
        values = [panel[key] for panel in everything]
        assert sorted(set(values), key=str) == sorted(values, key=str)


@pytest.mark.parametrize("name", NAMES)
def test_panels_lie_on_the_grid_and_nowhere_over_each_other(name: str) -> None:
    places = [panel["gridPos"] for panel in document(name)["panels"]]
    assert [p for p in places if p["x"] < 0 or p["x"] + p["w"] > COLUMNS or p["w"] < 1 or p["h"] < 1] == []
    for one, other in itertools.combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below, (one, other)


@pytest.mark.parametrize("name", NAMES)
def test_a_panel_says_how_to_read_it_and_in_which_unit(name: str) -> None:
    said = {panel["title"]: panel["description"] for panel in panels(name)}
    assert {title for title, text in said.items() if len(text) < 30 or not text.endswith(".")} == set()
    assert {panel["title"] for panel in panels(name) if not panel["fieldConfig"]["defaults"].get("unit")} == set()


@pytest.mark.parametrize("name", NAMES)
def test_everything_asks_the_data_source_that_is_chosen(name: str) -> None:
    targets = [target for panel in panels(name) for target in panel["targets"]]
    assert len(targets) > 10
    assert {target["datasource"]["uid"] for target in targets} == {"${datasource}"}
    assert {panel["datasource"]["uid"] for panel in panels(name)} == {"${datasource}"}


def test_every_metric_exists() -> None:
    used = {(e.board, e.panel): metrics(e.expr) - FAMILIES.keys() for e in EXPRESSIONS}
    assert {place: names for place, names in used.items() if names} == {}
    assert all(metrics(e.expr) for e in EXPRESSIONS)


def test_variables_are_filled_from_metrics_that_exist() -> None:
    queries = [v["query"]["query"] for n in NAMES for v in document(n)["templating"]["list"] if v["type"] == "query"]
    named = {re.fullmatch(r"label_values\((\w+)[{,].*", query)[1] for query in queries}
    assert named <= FAMILIES.keys()
    assert len(named) > 1


def test_every_metric_is_drawn_or_it_is_said_why_not() -> None:
    drawn = set().union(*(metrics(e.expr) for e in EXPRESSIONS))
    assert FAMILIES.keys() - drawn == NOT_DRAWN.keys()


@pytest.mark.skipif(sys.platform != "linux", reason="prometheus_client measures its process on Linux only")
def test_the_metrics_of_the_process_are_those_that_it_has() -> None:
    assert {family.name for family in foreign.OF_PROCESS} <= {samples.family.name for samples in process_samples()}


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_resolves(name: str) -> None:
    used = {match["braced"] or match["bare"] for text in strings(document(name)) for match in VARIABLE.finditer(text)}
    assert {"__rate_interval", "datasource", "job"} <= used
    assert used - variables(name) - OF_GRAFANA == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_is_used(name: str) -> None:
    body = {key: value for key, value in document(name).items() if key != "templating"}
    used = {match["braced"] or match["bare"] for text in strings(body) for match in VARIABLE.finditer(text)}
    assert variables(name) - used == set()


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_dashboards_and_variables_that_exist(name: str) -> None:
    uids = {document(other)["uid"]: other for other in NAMES}
    links = {text for text in strings(document(name)) if text.startswith("/d/")}
    for link in links:
        address = urlsplit(re.sub(r"\$\{(\w+):queryparam\}", r"var-\1=x", link))
        wanted = {key.removeprefix("var-") for key in parse_qs(address.query) if key.startswith("var-")}
        assert wanted <= variables(uids[address.path.split("/")[2]])
    assert links or name == "queue"


@pytest.mark.parametrize("name", NAMES)
def test_the_dashboards_link_to_each_other_and_to_the_runbooks(name: str) -> None:
    links = document(name)["links"]
    assert [link["tags"] for link in links if link["type"] == "dashboards"] == [["bullmq", "qobserve"]]
    assert RUNBOOKS in {link["url"] for link in links}
    assert not any(text.startswith((RUNBOOK, BULL_BOARD)) for text in strings(document(name)))


def test_panels_link_to_runbooks_of_alerts_that_exist() -> None:
    terms = Terms(options=AlertOptions(with_length_alerts=True), wait_bounds=(1.0, 300.0))
    alerts = {alert.name for subject in SUBJECTS for alert in subject(terms).alerts}
    links = [link for name in NAMES for panel in panels(name) for link in panel.get("links", [])]
    linked = {re.fullmatch(rf"{RUNBOOKS}/(\w+)\.md", link["url"])[1] for link in links}
    assert len(linked) > 10
    assert linked - alerts == set()


def test_rules_and_dashboards_agree_on_what_holds_where_nothing_is_said() -> None:
    assert AlertOptions().default_wait == DEFAULT_OBJECTIVE_SECONDS
    assert AlertOptions().runbook_base_url == RUNBOOKS


def test_bull_board_is_linked_where_its_address_is_known() -> None:
    places = Places(bull_board="http://board")
    text = {name: as_json(definition(name), places) for name in NAMES}
    assert {name for name in NAMES if '"url": "http://board/"' in text[name]} == set(NAMES)
    assert '"url": "http://board/queue/${queue:percentencode}"' in text["queue"]
    assert "/queue/${__data.fields.Queue:percentencode}" in text["overview"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "queue"])
def test_thousands_of_queues_do_not_make_thousands_of_lines(name: str) -> None:
    targets = [(panel["title"], target) for panel in panels(name) for target in panel["targets"]]
    of_queue = [(title, t) for title, t in targets if "{{queue}}" in t["legendFormat"] or t["format"] == "table"]
    one_each = {title for title, t in of_queue if "topk(" not in t["expr"] and "queue=~" in t["expr"]}
    assert one_each == set()
    assert of_queue


def test_durations_show_their_traces() -> None:
    durations = [
        p for p in panels("queue") if re.match(r"(Wait|Processing)(,|$)", p["title"]) and "name" not in p["title"]
    ]
    assert len(durations) == 4
    assert [panel["title"] for panel in durations if not any(t["exemplar"] for t in panel["targets"])] == []


def test_faults_are_annotations() -> None:
    found = {entry["name"]: entry for entry in document("chaos")["annotations"]["list"]}
    assert found["Faults"]["target"]["tags"] == ["qobserve-chaos"]
    assert found["Faults"]["enable"]


def test_prometheus_parses_every_expression(tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        missing("no promtool on PATH: it is in the system's package prometheus")
    rules = [{"record": f"parsed:{number}", "expr": e.filled(VALUES)} for number, e in enumerate(EXPRESSIONS)]
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": "dashboards", "rules": rules}]}))
    run = subprocess.run(["promtool", "check", "rules", str(file)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{len(EXPRESSIONS)} rules found" in run.stdout
