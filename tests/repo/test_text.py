"""What is committed speaks of this project only: no machine, no registry; and every exception to a rule is argued."""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from repo.tree import ROOT, text_of, tracked

import qobserve

if TYPE_CHECKING:
    from pathlib import Path

HOST = re.compile(
    r"\b(?:pypi|pythonhosted|npmjs|yarnpkg|golang|debian)\.(?:org|com|io)\b|\bcrates\.io\b|\bmaven\.(?:apache\.)?org\b"
)
# A folder of one machine; `chaos/worker` and `.../root` in the middle of a path are none.
FOLDER = re.compile(r"(?<![\w.*})-])/(?:work|root|tmp|home|Users)(?=/|[\"'`\s]|$)", re.MULTILINE)
EXEMPTION = re.compile(r"#\s*(?:ruff:\s*)?noqa\b(?P<rest>.*)")
ARGUED = re.compile(r": [A-Z]+\d+(?:, ?[A-Z]+\d+)*\s+(?:#|-)\s+\S.{6,}")

PYTHON = [path for path in tracked() if path.suffix == ".py"]
SCRIPTS = [path for path in tracked() if (text_of(path) or "").startswith("#!")]


@pytest.mark.parametrize("pattern", [HOST, FOLDER], ids=["registry", "machine"])
def test_no_address_of_a_registry_or_folder_of_a_machine(pattern: re.Pattern[str]) -> None:
    texts = {path: text_of(path) or "" for path in tracked()}
    assert {f"{path}: {match[0]}" for path, text in texts.items() for match in pattern.finditer(text)} == set()


def test_every_exemption_is_argued_on_its_line() -> None:
    lines = ((path, line) for path in PYTHON for line in (ROOT / path).read_text().splitlines())
    found = ((path, line, EXEMPTION.search(line)) for path, line in lines)
    assert [f"{path}: {line}" for path, line, match in found if match and not ARGUED.match(match["rest"])] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=str)
def test_a_script_can_be_run(path: Path) -> None:
    assert os.access(ROOT / path, os.X_OK)
    if "bash" in (ROOT / path).read_text().partition("\n")[0]:
        subprocess.run(["bash", "-n", str(ROOT / path)], check=True)


def test_the_changelog_has_the_current_version() -> None:
    headings = re.findall(r"^## \[?([\d.]+)\]?", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == qobserve.__version__


def test_every_lint_rule_that_is_off_says_why() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    start = text.index("[tool.ruff.lint]")
    section = text[start : text.index("[tool.mypy]")]
    entries = re.findall(r'^ +"([A-Z]+\d*)",(.*)$', section, re.MULTILINE)
    assert len(entries) > 10
    assert [code for code, reason in entries if not re.match(r" +# \w.{8,}", reason)] == []
