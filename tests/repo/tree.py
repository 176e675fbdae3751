"""The files of this repository, as git sees them."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that is committed, or would be by `git add .`, relative to the root."""
    # The clone may belong to another user than the one who runs the tests.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = sorted(set(listing.split("\0")) - {""})
    return tuple(Path(name) for name in names if (ROOT / name).is_file())


def python_files(*folders: str) -> list[Path]:
    """The Python files under `folders`."""
    return [path for path in tracked() if path.suffix == ".py" and path.parts[0] in folders]


def text_of(path: Path) -> str | None:
    """What `path` holds, or nothing when it is no text."""
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def pyproject() -> dict[str, object]:
    """The parsed pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())
