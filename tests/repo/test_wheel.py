"""The wheel carries the package and nothing else, and stands on its own."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from repo.tree import ROOT, tracked

import qobserve

if TYPE_CHECKING:
    from pathlib import Path

# What is built must come from this tree: no index is asked.
ENVIRONMENT = {**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONPATH": ""}
PIP = [sys.executable, "-m", "pip", "--quiet"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    subprocess.run([*PIP, "wheel", *options, str(ROOT)], check=True, env=ENVIRONMENT)
    (built,) = folder.iterdir()
    return built


def test_it_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {path.as_posix() for path in tracked() if path.parts[0] == "qobserve"}


def test_it_is_called_after_the_version(wheel: Path) -> None:
    assert wheel.name == f"qobserve-{qobserve.__version__}-py3-none-any.whl"


def test_it_imports_where_nothing_else_is_installed(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path)], check=True)
    python = str(tmp_path / "bin" / "python")
    subprocess.run([*PIP, "--python", python, "install", "--no-deps", str(wheel)], check=True, env=ENVIRONMENT)
    program = "import qobserve; print(qobserve.__version__, qobserve.__file__)"
    run = subprocess.run([python, "-I", "-c", program], check=True, cwd=tmp_path, capture_output=True, text=True)
    version, file = run.stdout.split()
    assert version == qobserve.__version__
    assert file.startswith(str(tmp_path))
