"""A fresh copy of the repository works on a machine that has a Python and nothing else of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from repo.tree import ROOT, tracked

# Names that come first in the search but do not run, as the shims of a version manager for what is not installed.
BROKEN = ("python3.13", "python3.12")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """The tracked files, with no environment beside them, in a folder whose name has a space."""
    root = tmp_path / "a copy"
    for path in tracked():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, root / path)
    return root


def search_path(folder: Path) -> str:
    """A PATH where the newest names are broken and `python3` is the interpreter that this environment was made of."""
    folder.mkdir()
    for name in BROKEN:
        (folder / name).write_text("#!/bin/sh\nexit 127\n")
        (folder / name).chmod(0o755)
    (folder / "python3.11").symlink_to(Path(sys.executable).resolve())
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


# Several packages are fetched and unpacked; a slow disk or network needs more than the default.
@pytest.mark.timeout(900)
def test_make_demo_needs_only_a_python(fresh: Path, tmp_path: Path) -> None:
    # `make test` hands its own variables down; a person who types `make demo` has none of them.
    inherited = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS", "ARGS"}}
    environment = {**inherited, "PATH": search_path(tmp_path / "bin")}
    first = make_demo(fresh, environment)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "/metrics" in first.stdout
    again = make_demo(fresh, environment)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "pip" in first.stdout
    assert "pip" not in again.stdout


def make_demo(root: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run `make demo` for some seconds."""
    command = ["make", "demo", "DURATION=5"]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
