"""Families as text: the formats that Prometheus reads, byte for byte as prometheus_client prints them, but faster.

prometheus_client builds an object and sorts a dictionary for each sample, which for tens of thousands of series takes
longer than reading Redis. A differential test holds both writers together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from qobserve.metrics.family import Family, Samples

OPENMETRICS = CONTENT_TYPE_LATEST
TEXT = CONTENT_TYPE_PLAIN_0_0_4


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
    text: list[str] = []
    for samples in families:
        if any(samples.blocks):
            text += _head(samples.family, openmetrics=openmetrics)
            text += samples.exemplified if openmetrics and samples.exemplified is not None else samples.blocks
    if openmetrics:
        text.append("# EOF\n")
    return "".join(text).encode()


def _head(family: Family, *, openmetrics: bool) -> Iterator[str]:
    name = family.name.removesuffix("_total") if openmetrics and family.type == "counter" else family.name
    text = family.help.replace("\\", r"\\").replace("\n", r"\n")
    if openmetrics:
        text = text.replace('"', r"\"")
    yield f"# HELP {name} {text}\n"
    yield f"# TYPE {name} {family.type}\n"
