"""What a queue is: library, version, layout, and whether all of it could be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector
from qobserve.metrics.family import OF_QUEUE, Family, label

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Samples

INFO = Family(
    "bullmq_queue_info",
    "gauge",
    "1, with the library and version that the last Queue object wrote (empty for Python, workers alone and before "
    "5.20) and the generation of the key layout: 3, 4, 5, 6, 5+ or unknown.",
    ("layout", "library", *OF_QUEUE, "version"),
)
READ_SUCCESS = Family(
    "bullmq_queue_read_success",
    "gauge",
    "1 when all of the queue could be read, 0 when a key had the wrong type or a command was refused (see the log).",
)


def _collect(facts: Facts) -> Iterator[Samples]:
    yield INFO.samples(
        (
            f"{label('layout', seen.layout)},{label('library', seen.library)},{queue},{label('version', seen.version)}",
            1,
        )
        for queue, seen, _ in facts.queues
    )
    yield READ_SUCCESS.samples((queue, int(not seen.problems)) for queue, seen, _ in facts.queues)


COLLECTOR = Collector("info", (INFO, READ_SUCCESS), _collect)
