"""The exporter's own process, as prometheus_client measures it: CPU, memory, file descriptors, start time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import PROCESS_COLLECTOR

from qobserve.metrics.family import Family

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.family import Samples


def process_samples() -> Iterator[Samples]:
    """The `process_*` families; none where the system does not tell."""
    for metric in PROCESS_COLLECTOR.collect():
        counter = metric.type == "counter"
        name = f"{metric.name}_total" if counter else metric.name
        family = Family(name, "counter" if counter else "gauge", metric.documentation, ())
        yield family.samples(("", sample.value) for sample in metric.samples)
