"""The locks say exactly what is installed, by its hash and from nowhere in particular."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from repo.tree import ROOT, pyproject, tracked

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = {"locks/demo.txt": ["build"], "locks/dev.txt": ["build", "dev"], "locks/servers.txt": ["servers"]}
LOCKS = list(GROUPS)
NODE_LOCKS = [path for path in tracked() if path.name == "package-lock.json"]


def entries(lock: str) -> list[str]:
    """The requirements of a lock, each with its hashes on one line."""
    text = (ROOT / lock).read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pins(lock: str) -> set[tuple[str, str]]:
    """Which version of which package a lock holds; there may be several, for different platforms."""
    return set(re.findall(r"^([a-z0-9-]+)==(\S+)", "\n".join(entries(lock)), re.MULTILINE))


def wanted(lock: str) -> list[Requirement]:
    """What pyproject.toml asks for, of the part that `lock` is for."""
    settings = pyproject()
    project, groups = settings["project"], settings["dependency-groups"]
    lines = [line for name in GROUPS[lock] for line in groups[name]]
    if "build" in GROUPS[lock]:
        lines += [
            *project["dependencies"],
            *project["optional-dependencies"]["demo"],
            *settings["build-system"]["requires"],
        ]
    return [Requirement(line) for line in lines]


def is_met(requirement: Requirement, held: set[tuple[str, str]]) -> bool:
    name = canonicalize_name(requirement.name)
    return any(name == other and requirement.specifier.contains(version) for other, version in held)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_is_pinned_and_carries_hashes(lock: str) -> None:
    assert len(entries(lock)) >= len(wanted(lock)) > 0
    bare = [line for line in entries(lock) if not re.match(r"[a-z0-9-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)]
    assert bare == []


@pytest.mark.parametrize("lock", LOCKS)
def test_no_entry_says_where_it_comes_from(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert re.findall(r"://|--(?:extra-)?index-url|--find-links| @ |^-e", text, re.MULTILINE) == []


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_what_the_project_asks_for(lock: str) -> None:
    held = pins(lock)
    assert [str(requirement) for requirement in wanted(lock) if not is_met(requirement, held)] == []


def test_the_locks_agree() -> None:
    assert pins("locks/demo.txt") <= pins("locks/dev.txt")


@pytest.mark.parametrize("path", NODE_LOCKS, ids=str)
def test_a_node_lock_carries_hashes_and_no_address(path: Path) -> None:
    packages = json.loads((ROOT / path).read_text())["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert installed
    assert [name for name, package in installed.items() if "integrity" not in package] == []
    assert [name for name, package in installed.items() if "://" in package.get("resolved", "")] == []
