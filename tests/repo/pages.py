"""The commands that the documentation tells a reader to type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from repo.tree import ROOT, tracked

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = [
    path for path in tracked() if path.suffix == ".md" and path.parts[0] in {"README.md", "CONTRIBUTING.md", "docs"}
]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<kind>console|sh|bash|shell)\b[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL
)


def commands_of(text: str) -> Iterator[str]:
    """Each command in the fenced blocks of a page, as one line; a console block shows them after a dollar sign."""
    for block in FENCE.finditer(text):
        lines = [line.strip() for line in block["body"].replace("\\\n", " ").splitlines()]
        if block["kind"] == "console":
            lines = [line[1:] for line in lines if line.startswith("$")]
        for line in lines:
            command = re.sub(r"(?:^|\s)#\s.*$", "", line)
            if command.strip():
                yield " ".join(command.split())


def commands() -> dict[str, str]:
    """Every command of the documentation, and the page that shows it."""
    return {command: str(page) for page in PAGES for command in commands_of((ROOT / page).read_text())}
