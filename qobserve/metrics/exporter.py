"""The scrape itself: whether and how well it went, and who serves it."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from qobserve import __version__
from qobserve.metrics.family import Family, label, labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from qobserve.metrics.family import Samples
    from qobserve.model.snapshot import Snapshot

UP = Family("bullmq_up", "gauge", "1 when Redis answered this scrape, 0 when not (the log says why).", ())
SCRAPE_DURATION = Family("bullmq_scrape_duration_seconds", "gauge", "How long reading Redis took for this scrape.", ())
COLLECTOR_SUCCESS = Family(
    "bullmq_collector_success",
    "gauge",
    "1 when a collector had all that it needed of every queue, 0 when a part could not be read (the log says which).",
    ("collector",),
)
QUEUES = Family("bullmq_queues", "gauge", "Queues that are watched.", ())
DISCOVERY_DURATION = Family(
    "bullmq_discovery_duration_seconds",
    "gauge",
    "How long the last complete search for queues took, in the background; absent before the first.",
    (),
)
SERIES_DROPPED = Family(
    "bullmq_series_dropped_total",
    "counter",
    "Series left out since the exporter started, by reason: at every scrape, schedulers beyond their limit and queues "
    "whose names read the same as another's (collision); once each, up to 10,000, job names beyond theirs (job_name).",
    ("reason",),
)
BUILD_INFO = Family(
    "bullmq_exporter_build_info",
    "gauge",
    "1, with the version of the exporter and of the Python that runs it.",
    ("python_version", "version"),
)
OF_SCRAPE = (UP, SCRAPE_DURATION, COLLECTOR_SUCCESS, QUEUES, DISCOVERY_DURATION, SERIES_DROPPED)


def scrape_samples(snapshot: Snapshot, succeeded: Mapping[str, bool], dropped: Mapping[str, int]) -> Iterator[Samples]:
    """How this scrape went."""
    yield UP.samples([("", int(snapshot.trouble is None))])
    yield SCRAPE_DURATION.samples([("", snapshot.duration_seconds)])
    yield COLLECTOR_SUCCESS.samples((label("collector", name), int(good)) for name, good in succeeded.items())
    yield QUEUES.samples([("", sum(1 for _ in snapshot.queues()))] if snapshot.trouble is None else ())
    found = snapshot.discovery_seconds
    yield DISCOVERY_DURATION.samples([("", found)] if found is not None else ())
    yield SERIES_DROPPED.samples((label("reason", reason), count) for reason, count in dropped.items())


def build_samples() -> Samples:
    """Who serves."""
    return BUILD_INFO.samples([(labels(python_version=platform.python_version(), version=__version__), 1)])
