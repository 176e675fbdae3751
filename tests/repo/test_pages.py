"""The documentation is complete and up to date."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from repo.pages import PAGES
from repo.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_there_is_a_readme() -> None:
    assert "README.md" in map(str, PAGES)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_generated_parts_are_up_to_date(page: Path) -> None:
    command = [sys.executable, "-m", "cogapp", "--check", "--diff", str(page)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", (ROOT / page).read_text())
    local = [target for target in targets if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in local if not (ROOT / page.parent / target).exists()] == []
