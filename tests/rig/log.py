"""What an exporter has logged, and what every scrape of it must keep, whatever trouble there is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rig.scrape import key, parse

if TYPE_CHECKING:
    from rig.scrape import Exporter, Samples

SCRAPE_SECONDS = 3.0
_TIMELESS = ("bullmq_queue_jobs", "bullmq_queue_paused", "bullmq_queue_info", "bullmq_queue_read_success")


def scrape(exporter: Exporter, path: str = "/metrics") -> Samples:
    """One scrape with a timeout of three seconds, which is kept; it is whole text, and no value is NaN or negative."""
    response = exporter.get(path, x_prometheus_scrape_timeout_seconds=f"{SCRAPE_SECONDS:g}")
    assert response.status_code == 200, exporter.child.log()
    assert response.elapsed.total_seconds() < SCRAPE_SECONDS
    samples = parse(response.text)
    assert [name for name, value in samples.items() if math.isnan(value) or value < 0] == []
    return samples


def up(samples: Samples) -> float:
    """The value of `bullmq_up`."""
    return samples[key("bullmq_up")]


def failed_collectors(samples: Samples) -> set[str]:
    """The collectors that did not get all they wanted."""
    return {
        dict(labels)["collector"]
        for (name, labels), value in samples.items()
        if name == "bullmq_collector_success" and value == 0
    }


def of_queue(samples: Samples, queue: str) -> Samples:
    """What a queue shows that no clock changes."""
    return {
        (name, labels): value
        for (name, labels), value in samples.items()
        if ("queue", queue) in labels and name in _TIMELESS
    }


def logged(exporter: Exporter, *parts: str) -> list[str]:
    """The log lines that hold all of these; there must be no traceback in any."""
    log = exporter.child.log()
    assert "Traceback" not in log
    return [line for line in log.splitlines() if all(part in line for part in parts)]
