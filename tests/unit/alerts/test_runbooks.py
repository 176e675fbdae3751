"""Every alert has a page that says what to do."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click
import pytest
from repo.tree import ROOT

from qobserve.cli.program import cli
from qobserve.config.flags import read_flags
from qobserve.config.table import SETTINGS
from qobserve.metrics import COLLECTORS
from qobserve.metrics.exporter import BUILD_INFO, OF_SCRAPE

if TYPE_CHECKING:
    from pathlib import Path

    from qobserve.alerts.rule import Alert

FOLDER = ROOT / "dashboards" / "runbooks"
INDEX = FOLDER / "README.md"
PAGES = sorted(set(FOLDER.glob("*.md")) - {INDEX})
PARTS = ["What it means", "How to confirm", "Usual causes", "What to do", "When it is over"]
FAMILIES = {f.name for f in (*OF_SCRAPE, BUILD_INFO, *(f for one in COLLECTORS for f in one.families))}

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def parts(text: str) -> dict[str, str]:
    pieces = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def test_there_is_a_page_for_each_alert_and_no_other(all_alerts: dict[str, Alert]) -> None:
    assert {page.stem for page in PAGES} == all_alerts.keys()


def test_the_index_leads_to_each(all_alerts: dict[str, Alert]) -> None:
    sections = parts(INDEX.read_text())
    listed = {
        severity: re.findall(r"^\* \[(\w+)\]\(\1\.md\)$", text, re.MULTILINE) for severity, text in sections.items()
    }
    for title, names in listed.items():
        severity = title.partition(":")[0].lower()
        assert set(names) == {name for name, alert in all_alerts.items() if alert.severity == severity}


@each_page
def test_a_page_answers_the_five_questions(page: Path, all_alerts: dict[str, Alert]) -> None:
    text = page.read_text()
    sections = parts(text)
    assert text.startswith(f"# {page.stem}\n\nSeverity **{all_alerts[page.stem].severity}**")
    assert list(sections) == PARTS
    assert all(len(section.split()) > 2 for section in sections.values())
    assert "```promql\n" in sections["How to confirm"]
    assert "$ qobserve " in sections["How to confirm"]
    assert len(re.findall(r"^\d\. \*\*", sections["Usual causes"], re.MULTILINE)) >= 3


@each_page
def test_a_page_asks_for_what_the_alert_is_about(page: Path, all_alerts: dict[str, Alert]) -> None:
    first = re.findall(r"[\w:]*bullmq_\w+|\bup\b", all_alerts[page.stem].expr)[0]
    assert first in parts(page.read_text())["How to confirm"]


@each_page
def test_what_a_page_names_exists(page: Path) -> None:
    text = page.read_text()
    named = set(re.findall(r"(?<![\w:])bullmq_\w+", text)) - {"bullmq_redis_"}
    assert {re.sub(r"_(bucket|count|sum)$", "", name) for name in named} <= FAMILIES
    settings = set(re.findall(r"`((?:slo|metrics|follow|redis|queues|web)\.[a-z.-]+)`", text))
    known = {setting.name for setting in SETTINGS} | {"slo.queues", "queues.include", "web.config.file"}
    assert settings <= known
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not (FOLDER / link).exists()] == []


@each_page
def test_the_commands_of_a_page_are_understood(page: Path) -> None:
    text = page.read_text()
    lines = re.findall(r"^\$ qobserve (.+)$", text, re.MULTILINE) + re.findall(r"`qobserve (.+?)`", text)
    assert lines
    for line in lines:
        name, *words = shlex.split(line.partition(" | ")[0])
        if name == "exporter":
            assert read_flags(words).problems == ()
        else:
            group = cli.get_command(click.Context(cli), name)
            assert isinstance(group, click.Group)
            command = group.commands[words[0]]
            command.make_context(words[0], words[1:])
