"""The wheel carries the package and nothing else, and stands on its own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest
from repo.tree import ROOT, pyproject, tracked

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


def included() -> dict[str, str]:
    """The folders that the wheel carries beside the package, and what they are called in it."""
    found: dict[str, str] = pyproject()["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    return found


def test_it_holds_the_package_with_its_data_and_nothing_else(wheel: Path) -> None:
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = {path.as_posix() for path in tracked() if path.parts[0] == "qobserve"}
    data = {
        path.as_posix().replace(folder, inside, 1)
        for folder, inside in included().items()
        for path in tracked()
        if path.as_posix().startswith(f"{folder}/")
    }
    assert len(data) > 4
    assert names == package | data


def test_an_installed_wheel_exports_the_committed_dashboards(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    subprocess.run([*PIP, "--python", python, "install", "--no-deps", str(wheel)], check=True, env=ENVIRONMENT)
    # What it depends on comes from here; this package itself does not, as it is installed as an editable one.
    environment = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")}
    program = "import qobserve, sys; from qobserve.cli import main; print(qobserve.__file__); sys.exit(main())"
    command = [python, "-c", program, "dashboards", "export", "--out", "json"]
    run = subprocess.run(command, check=True, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.stdout.startswith(str(tmp_path))
    written = {path.name: path.read_bytes() for path in (tmp_path / "json").iterdir()}
    assert written == {path.name: path.read_bytes() for path in (ROOT / "dashboards" / "json").iterdir()}


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
