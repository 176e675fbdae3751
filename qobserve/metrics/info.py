"""What a queue is: library, version, layout, and whether all of it could be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector, OfQueue, value
from qobserve.metrics.family import OF_QUEUE, Family, label
from qobserve.metrics.merge import Merge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Seen
    from qobserve.metrics.family import Row

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


def _info(queue: str, seen: Seen) -> Iterator[Row]:
    read = seen.queue
    before = f"{label('layout', read.layout)},{label('library', read.library)}"
    yield f"{before},{queue},{label('version', read.version)}", 1


COLLECTOR = Collector(
    "info",
    (
        OfQueue(INFO, _info, merge=Merge.MAX),
        value(READ_SUCCESS, lambda queue: not queue.problems, merge=Merge.MIN),
    ),
)
