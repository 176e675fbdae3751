"""Links get their addresses at the export, and those to nowhere are left out."""

from __future__ import annotations

import pytest

from qobserve.panels.links import Places, resolved, to_bull_board, to_queue, to_runbook


@pytest.mark.parametrize("base", ["https://wiki/runbooks", "https://wiki/runbooks/"])
def test_a_runbook_is_a_page_of_the_folder(base: str) -> None:
    places = Places(runbooks=base)
    assert resolved(to_runbook("QueueAge"), places) == "https://wiki/runbooks/QueueAge.md"
    assert resolved(to_runbook(), places) == "https://wiki/runbooks"


def test_a_queue_of_bull_board() -> None:
    places = Places(bull_board="http://board:3000/admin/")
    assert resolved(to_bull_board("${queue}"), places) == "http://board:3000/admin/queue/${queue}"


def test_links_to_unknown_places_are_left_out_and_others_stay() -> None:
    stays = {"title": "Queue", "url": to_queue("p", "q")}
    panel = {"links": [{"title": "a", "url": to_bull_board("q")}, stays, {"title": "b", "url": to_runbook("X")}]}
    assert resolved({"panels": [panel]}, Places()) == {"panels": [{"links": [stays]}]}


def test_values_that_are_no_links_stay_as_they_are() -> None:
    value = {"a": [1, None, True, 0.5, "text", {"url": 3}], "b": None}
    assert resolved(value, Places()) == value


def test_a_link_to_a_queue_takes_along_what_is_chosen() -> None:
    url = to_queue("bull", "${__data.fields.Queue:percentencode}")
    assert url.startswith("/d/qobserve-queue/")
    for part in ("${datasource:queryparam}", "${job:queryparam}", "${target:queryparam}", "${__url_time_range}"):
        assert part in url
    assert url.endswith("&var-prefix=bull&var-queue=${__data.fields.Queue:percentencode}")
