"""The Makefile and its set-up script say what they do, and what a machine lacks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from repo.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SHELL_TOOLS = ("bash", "env", "dirname", "tr", "id")
# An interpreter as Debian ships it without python3-venv, and one that is too old.
WITHOUT_VENV = '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; esac\n'
TOO_OLD = "#!/bin/sh\nexit 1\n"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A copy of the set-up script on a PATH that has next to nothing."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "tools").mkdir()
    for name in SHELL_TOOLS:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or name)
    shutil.copy(ROOT / "tools" / "setup", tmp_path / "tools")
    return tmp_path


def add_python(bare: Path, text: str) -> None:
    program = bare / "bin" / "python3"
    program.write_text(text)
    program.chmod(0o755)


def run_setup(bare: Path, what: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(bare / "tools" / "setup"), what],
        env={"PATH": str(bare / "bin"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_make_lists_every_target() -> None:
    # `make test` hands its own variables down; a person who types `make` has none of them.
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    command = ["make", "--no-print-directory"]
    run = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    listed = re.findall(r"^make (\S+) +\S", run.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(set(phony.split()) - {"services"})


def test_a_python_without_ensurepip_is_answered_with_the_command_to_run(bare: Path) -> None:
    add_python(bare, WITHOUT_VENV)
    run = run_setup(bare, "venv")
    assert run.returncode == 1
    assert run.stderr == (
        "setup: no Python 3.11 or later that can make a virtual environment;"
        " to have it, run: sudo apt-get install python3-venv\n"
    )


def test_an_old_python_is_answered_with_the_command_to_run(bare: Path) -> None:
    add_python(bare, TOO_OLD)
    run = run_setup(bare, "venv")
    assert run.returncode == 1
    assert run.stderr.endswith("run: sudo apt-get install python3 python3-venv\n")


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_a_missing_service_fails_only_in_ci(bare: Path, ci: str, code: int) -> None:
    run = run_setup(bare, "services", CI=ci)
    assert run.returncode == code
    assert "redis-server" in run.stderr
    assert "nodejs npm" in run.stderr


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
@pytest.mark.parametrize(("version", "missing"), [("", False), ("16.20.2", True), ("20.0.0", False)])
def test_only_a_missing_or_old_node_is_asked_for(bare: Path, version: str, missing: bool) -> None:  # noqa: FBT001 - a row of the table
    # The real one, which is made to believe that it is of another version.
    posed = bare / "version.cjs"
    versions = f"{{ value: {{ node: '{version}' }} }}"
    posed.write_text(f"Object.defineProperty(process, 'versions', {versions})" if version else "")
    node = bare / "bin" / "node"
    node.write_text(f'#!/bin/sh\nexec {shutil.which("node")} --require {posed} "$@"\n')
    node.chmod(0o755)
    run = run_setup(bare, "services")
    assert run.returncode == 0
    assert ("nodejs" in run.stderr) == missing
    assert "Error" not in run.stderr


def test_an_unknown_word_is_a_usage_error(bare: Path) -> None:
    run = run_setup(bare, "everything")
    assert (run.returncode, run.stderr) == (64, "usage: tools/setup venv | services | machine\n")
