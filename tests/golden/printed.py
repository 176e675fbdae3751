"""Samples taken apart again, for tests that look at values and not at text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qobserve.metrics.family import Samples

_LINE = re.compile(r"(?P<name>[a-z_:]+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")


def rows(samples: Samples) -> list[tuple[str, float]]:
    """Labels, as they are printed, and value of each line; a line of another family is an error.

    Of a histogram what its name ends in stands in front of the labels: `count{...}`, without braces.
    """
    found = []
    for line in "".join(samples.blocks).split("\n")[:-1]:
        match = _LINE.fullmatch(line)
        assert match, line
        name, end = match["name"], ""
        if samples.family.type == "histogram":
            name, _, end = name.rpartition("_")
            end += " "
        assert name == samples.family.name
        found.append((end + (match["labels"] or ""), float(match["value"])))
    return found
