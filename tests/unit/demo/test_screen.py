"""What the demo writes where there is no terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.demo.page import Page, QueueRow
from qobserve.demo.scenarios import SCENARIOS
from qobserve.demo.screen import screen

if TYPE_CHECKING:
    import pytest


def test_plain_output_begins_with_the_url_and_has_no_control_codes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with screen() as shown:
        shown.starting("a part")
        assert capsys.readouterr().out == ""
        shown.ready("http://127.0.0.1:1/metrics", "a note")
        shown.show(Page(rows={"emails": QueueRow(jobs={"waiting": 7})}, seconds=0.004), 5.2)
        shown.show(Page(trouble="no answer"), 10.0)
    output = capsys.readouterr().out
    assert output.startswith("qobserve demo: http://127.0.0.1:1/metrics\na note\n\n  emails  ")
    assert "\nafter 5 s: 1 queues read in 4ms; " in output
    assert "\nemails         7 " in output
    assert "\nafter 10 s: no answer\n" in output
    assert all(scenario.shows in output for scenario in SCENARIOS)
    assert output.isascii()
    assert "\x1b" not in output
