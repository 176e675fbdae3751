"""Families as text: the formats that Prometheus reads, byte for byte as prometheus_client prints them, but faster.

prometheus_client builds an object and sorts a dictionary for each sample, which for tens of thousands of series takes
longer than reading Redis. A differential test holds both writers together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST
from prometheus_client.utils import floatToGoString

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from qobserve.metrics.family import Samples

OPENMETRICS = CONTENT_TYPE_LATEST
TEXT = CONTENT_TYPE_PLAIN_0_0_4

_PLAIN_BELOW = 1_000_000
"""From here on Go, and so Prometheus, prints an exponent."""


def negotiate(accept: str) -> str:
    """The content type for an Accept header: OpenMetrics 1 where it is asked for, else the classic text."""
    for wanted in accept.lower().split(","):
        media, *parameters = (part.strip() for part in wanted.split(";"))
        given = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media == "application/openmetrics-text" and _is_wanted(given):
            return OPENMETRICS
    return TEXT


def _is_wanted(given: Mapping[str, str]) -> bool:
    version, weight = given.get("version", "").strip('"'), given.get("q", "1")
    return (not version or version.startswith("1.")) and weight.strip("0.") != ""


def render(families: Iterable[Samples], content_type: str) -> bytes:
    """The text of all families that have samples."""
    openmetrics = content_type == OPENMETRICS
    lines: list[str] = []
    for samples in families:
        if samples.rows:
            lines += _head(samples, openmetrics=openmetrics)
            lines += _body(samples)
    if openmetrics:
        lines.append("# EOF\n")
    return "".join(lines).encode()


def _head(samples: Samples, *, openmetrics: bool) -> Iterator[str]:
    family = samples.family
    name = family.name.removesuffix("_total") if openmetrics and family.type == "counter" else family.name
    text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    if openmetrics:
        text = text.replace('"', r"\"")
    yield f"# HELP {name} {text}\n"
    yield f"# TYPE {name} {family.type}\n"


def _body(samples: Samples) -> list[str]:
    """The lines of a family; whole numbers, which are most, are printed in place: a call for each would show."""
    name = samples.family.name
    if not samples.family.labels:
        return [f"{name} {_number(value)}\n" for _, value in samples.rows]
    return [
        f"{name}{{{labels}}} {value}.0\n"
        if type(value) is int and 0 <= value < _PLAIN_BELOW
        else f"{name}{{{labels}}} {_number(value)}\n"
        for labels, value in samples.rows
    ]


def _number(value: float) -> str:
    return str(floatToGoString(value))  # type: ignore[no-untyped-call]  # untyped in prometheus_client
