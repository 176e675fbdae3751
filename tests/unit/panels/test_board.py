"""Panels flow from left to right and get numbers; what Grafana no longer reads is not written."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from qobserve.panels.board import COLUMNS, About, board
from qobserve.panels.charts import heatmap, lines, number, timeline
from qobserve.panels.frame import ask, ask_now
from qobserve.panels.grafana import plain
from qobserve.panels.tables import Column, table

ABOUT = About(uid="u", title="T", purpose="P")


def places(sections: list[list[tuple[int, int]]]) -> list[dict[str, int]]:
    """Where the panels of these sizes end up, headings included."""
    made = [("s", [number("t", "d", "none", ask_now("1"), size=size) for size in sizes]) for sizes in sections]
    return [panel["gridPos"] for panel in plain(board(ABOUT, made, []))["panels"]]


def test_panels_wrap_where_there_is_no_room() -> None:
    found = places([[(12, 8), (12, 6), (16, 4)], [(24, 3)]])
    assert [(p["x"], p["y"], p["w"], p["h"]) for p in found] == [
        (0, 0, 24, 1),
        (0, 1, 12, 8),
        (12, 1, 12, 6),
        (0, 9, 16, 4),
        (0, 13, 24, 1),
        (0, 14, 24, 3),
    ]


@given(st.lists(st.lists(st.tuples(st.integers(1, COLUMNS), st.integers(1, 12)), max_size=8), max_size=4))
def test_panels_never_overlap(sections: list[list[tuple[int, int]]]) -> None:
    for one, other in itertools.combinations(places(sections), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below


def test_panels_are_numbered() -> None:
    made = [("a", [number("t", "d", "none", ask_now("1"))] * 2), ("b", [number("t", "d", "none", ask_now("1"))])]
    assert [panel["id"] for panel in plain(board(ABOUT, made, []))["panels"]] == [1, 2, 3, 4, 5]


def test_queries_get_letters_and_say_whether_they_are_for_now() -> None:
    first, second = plain(lines("t", "d", "s", [ask("a", "{{x}}", exemplar=True), ask("b")]))["targets"]
    assert (first["refId"], first["expr"], first["legendFormat"], first["exemplar"]) == ("A", "a", "{{x}}", True)
    assert (second["refId"], second["instant"], second["range"], second["exemplar"]) == ("B", False, True, False)
    (now,) = plain(number("t", "d", "s", ask_now("c")))["targets"]
    assert (now["instant"], now["range"]) == (True, False)


def test_when_a_query_finds_something_is_not_for_grafana() -> None:
    query = ask("a", only_if="in trouble")
    assert query.only_if == "in trouble"
    assert "in trouble" not in str(plain(query))


def test_thresholds_begin_at_null() -> None:
    panel = plain(number("t", "d", "s", ask_now("1"), limits=((None, "green"), (5, "red"))))
    assert panel["fieldConfig"]["defaults"]["thresholds"]["steps"] == [
        {"color": "green", "value": None},
        {"color": "red", "value": 5},
    ]


def test_a_heatmap_asks_for_buckets() -> None:
    panel = plain(heatmap("t", "d", "s", ask("x", exemplar=True)))
    (query,) = panel["targets"]
    assert (query["format"], query["legendFormat"], query["exemplar"]) == ("heatmap", "{{le}}", True)
    assert panel["options"]["yAxis"]["unit"] == "s"


def test_a_timeline_shows_words() -> None:
    panel = plain(timeline("t", "d", [ask("x")], {"1": ("up", "green")}))
    (mapping,) = panel["fieldConfig"]["defaults"]["mappings"]
    assert mapping["options"] == {"1": {"text": "up", "color": "green", "index": 0}}


def renamed(panel: dict[str, object]) -> object:
    """What a table's columns are called, in their order."""
    return panel["transformations"][-1]["options"]["renameByName"]  # type: ignore[index]  # plain JSON


def test_a_table_names_its_columns() -> None:
    keys = {"queue": "Queue"}
    two = plain(table("t", "d", [Column(title="Age", expr="a", unit="s"), Column(title="Jobs", expr="b")], keys))
    one = plain(table("t", "d", [Column(title="Age", expr="a")], keys))
    assert renamed(two) == {"queue": "Queue", "Value #A": "Age", "Value #B": "Jobs"}
    # With one query alone Grafana does not number the values.
    assert renamed(one) == {"queue": "Queue", "Value": "Age"}
    assert two["options"]["sortBy"] == [{"displayName": "Age", "desc": True}]


def test_what_grafana_no_longer_reads_is_not_written() -> None:
    written = plain(board(ABOUT, [("s", [lines("t", "d", "s", [ask("1")])])], []))
    assert {"rows", "style", "__inputs", "sharedCrosshair"}.isdisjoint(written)
    assert {"editable", "error", "span", "height"}.isdisjoint(written["panels"][1])
