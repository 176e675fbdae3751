"""A file that lost its content, as it does while an editor or a deployment writes it anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.config.yaml_file import read_yaml

if TYPE_CHECKING:
    from pathlib import Path

EMPTY = ["", "# comments only\n", "---\n"]


@pytest.mark.parametrize("nothing", EMPTY)
def test_an_empty_file_is_valid_until_it_said_something(tmp_path: Path, nothing: str) -> None:
    path = tmp_path / "config.yml"
    for text in (nothing, nothing, "redis: {timeout: 1s}", "{}"):
        path.write_text(text, encoding="utf-8")
        assert read_yaml(path, "config.yml").top.problems == ()

    path.write_text(nothing, encoding="utf-8")
    assert read_yaml(path, "config.yml").top.problems == (
        "config.yml: it is empty and was not before, as while it is being written: reload once it is whole",
    )
    path.write_text("redis: {timeout: 2s}", encoding="utf-8")
    assert [given.texts for given in read_yaml(path, "config.yml").top.givens] == [("2s",)]
