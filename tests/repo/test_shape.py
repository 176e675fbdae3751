"""Files and functions stay small enough to be read in one go, and say what they are about."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from repo.tree import ROOT, python_files

if TYPE_CHECKING:
    from pathlib import Path

FILE_LINES = 250
FUNCTION_LINES = 40
VAGUE = {"utils", "util", "common", "helpers", "helper", "misc", "shared", "stuff"}

FILES = python_files("qobserve", "bench", "chaos")


def test_there_is_something_to_check() -> None:
    assert len(FILES) > 1


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_file_is_small(path: Path) -> None:
    assert len((ROOT / path).read_text().splitlines()) < FILE_LINES


@pytest.mark.parametrize("path", FILES, ids=str)
def test_functions_are_small(path: Path) -> None:
    nodes = ast.walk(ast.parse((ROOT / path).read_text()))
    functions = (node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    sizes = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}
    assert {name: size for name, size in sizes.items() if size >= FUNCTION_LINES} == {}


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_name_says_what_is_inside(path: Path) -> None:
    assert VAGUE.isdisjoint({*path.parts[:-1], path.stem})


@pytest.mark.parametrize("path", FILES, ids=str)
def test_a_module_opens_with_one_sentence(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text()))
    assert docstring is not None
    assert docstring.partition("\n\n")[0].endswith((".", ":", "!", "?"))
