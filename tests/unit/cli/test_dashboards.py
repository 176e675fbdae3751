"""`qobserve dashboards export`: what it writes, and what it says when it cannot."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import yaml
from rig.boards import FOLDER, NAMES

from qobserve.cli.program import run

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

EXPORT = ["dashboards", "export"]


def test_it_writes_a_file_for_each_dashboard(tmp_path: Path) -> None:
    assert run([*EXPORT, "--out", str(tmp_path / "new" / "folder")]) == 0
    written = {path.name: path.read_text() for path in (tmp_path / "new" / "folder").iterdir()}
    assert written == {f"{name}.json": (FOLDER / "json" / f"{name}.json").read_text() for name in NAMES}


def test_without_a_folder_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EXPORT) == 0
    assert capsys.readouterr().out == "".join((FOLDER / "json" / f"{name}.json").read_text() for name in NAMES)


def test_configmaps_hold_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*EXPORT, "--format", "configmap"]) == 0
    manifests = list(yaml.safe_load_all(capsys.readouterr().out))
    assert [manifest["metadata"]["name"] for manifest in manifests] == [f"qobserve-{name}" for name in NAMES]
    assert [list(manifest["data"].values()) for manifest in manifests] == [
        [(FOLDER / "json" / f"{name}.json").read_text()] for name in NAMES
    ]
    assert run([*EXPORT, "--format", "configmap", "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.yaml" for name in NAMES]


def test_addresses_come_from_flags_and_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QOBSERVE_DASHBOARDS_BULL_BOARD_URL", "http://board.test")
    assert run([*EXPORT, "--runbook-base-url=https://wiki.test/books/"]) == 0
    printed = capsys.readouterr().out
    assert '"url": "http://board.test/queue/${queue:percentencode}"' in printed
    assert '"url": "https://wiki.test/books/BullMQQueuePaused.md"' in printed


def test_all_mistakes_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*EXPORT, "--format", "xml", "--bull-board-url", "board", "--oout", "x"]) == 64
    said = capsys.readouterr().err
    assert "3 settings are wrong" in said
    assert "did you mean --out?" in said
    assert '"board" is no address that begins with http:// or https://' in said


def test_its_variables_mean_nothing_to_the_exporter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QOBSERVE_DASHBOARDS_OUT", "x")
    assert run(["exporter", "--config.check"]) == 0
    assert capsys.readouterr().out == "ok\n"


def test_a_folder_that_cannot_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run([*EXPORT, "--out", str(tmp_path / "file" / "folder")]) == 1
    assert f"cannot write {tmp_path / 'file'}" in capsys.readouterr().err


WITHOUT = """
import sys
sys.modules["grafanalib"] = None
from qobserve.cli.program import run
sys.exit(run(["dashboards", "export"]))
"""


def test_without_the_extra_it_names_the_install_line() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert done.stderr == (
        "qobserve: qobserve dashboards needs packages that are not installed: pip install 'qobserve[dashboards]'\n"
    )
    assert done.stdout == ""


LOADED = """
import sys
from qobserve.cli.program import run
run(["--help"])
import qobserve.cli.dashboards, qobserve.cli.exporter
print("grafanalib" in sys.modules, file=sys.stderr)
"""


def test_only_the_export_loads_grafanalib() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert done.stderr == "False\n"
    assert "dashboards" in done.stdout


def test_what_is_printed_is_json_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    run(EXPORT)
    rest, found = capsys.readouterr().out, []
    while rest.strip():
        board, end = json.JSONDecoder().raw_decode(rest)
        found.append(board["uid"])
        rest = rest[end:].lstrip()
    assert found == [f"qobserve-{name}" for name in NAMES]
