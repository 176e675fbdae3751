"""One scrape after the other: runs the collectors over snapshots, and prints anew only what has changed.

A queue at rest has the same snapshot, the very object, as last time. What was printed of it is kept, except where the
clock matters. With a thousand queues that halves the cost of a scrape.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from qobserve.metrics import COLLECTORS
from qobserve.metrics.collector import OfQueue, OfServers, Seen
from qobserve.metrics.exporter import scrape_samples
from qobserve.metrics.family import Samples, queue_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from qobserve.config import Slo
    from qobserve.metrics.collector import Collector
    from qobserve.model.keys import QueueId
    from qobserve.model.snapshot import QueueSnapshot, Snapshot

LOG = logging.getLogger("qobserve.metrics")


class _Printed:
    """What one family prints of each queue; kept as long as the queue's snapshot is the same object."""

    def __init__(self, source: OfQueue) -> None:
        self._source = source
        self._blocks: dict[str, tuple[QueueSnapshot, str]] = {}

    def samples(self, queues: Mapping[str, Seen]) -> Samples:
        family, rows = self._source.family, self._source.rows
        if not self._source.lasting:
            return Samples(family, tuple([family.lines(rows(labels, seen)) for labels, seen in queues.items()]))
        before, blocks = self._blocks, {}
        for labels, seen in queues.items():
            kept = before.get(labels)
            if kept is None or kept[0] is not seen.queue:
                kept = (seen.queue, family.lines(rows(labels, seen)))
            blocks[labels] = kept
        self._blocks = blocks
        return Samples(family, tuple([text for _, text in blocks.values()]))


class Collection:
    """The collectors of one target.

    Args:
        enabled: Collectors by name; those that are missing run.
        slo: The promise made for a queue, if any; the same as long as this object lives.
        collectors: The table.
    """

    def __init__(
        self,
        *,
        enabled: Mapping[str, bool],
        slo: Callable[[QueueId], Slo | None],
        collectors: Iterable[Collector] = COLLECTORS,
    ) -> None:
        self._slo = slo
        self._collectors = {
            collector.name: [
                _Printed(source) if isinstance(source, OfQueue) else source for source in collector.sources
            ]
            for collector in collectors
            if enabled.get(collector.name, True)
        }
        self._dropped: dict[str, int] = {}

    def collect(self, snapshot: Snapshot) -> list[Samples]:
        """Everything that a scrape of the target shows."""
        queues = self._distinct(snapshot)
        unread = {problem.part for problem in snapshot.problems()}
        samples: list[Samples] = []
        succeeded: dict[str, bool] = {}
        for name, sources in self._collectors.items():
            try:
                samples += list(_run(sources, snapshot, queues))
            except Exception:  # the isolation of one collector from the others is the point of the loop
                LOG.exception("a collector failed", extra={"collector": name})
                unread.add(name)
            succeeded[name] = snapshot.trouble is None and name not in unread
        return [*scrape_samples(snapshot, succeeded, self._dropped), *samples]

    def _distinct(self, snapshot: Snapshot) -> dict[str, Seen]:
        """Queues by their labels; of two whose names read the same (one of them no UTF-8) the first stays."""
        seen: dict[str, Seen] = {}
        collisions = beyond = 0
        for server in snapshot.servers:
            for queue in server.queues:
                labels = queue_labels(queue.queue)
                beyond += max((queue.scheduler_count or 0) - len(queue.schedulers), 0)
                if labels in seen:
                    collisions += 1
                else:
                    seen[labels] = Seen(queue, server.now_ms, self._slo(queue.queue))
        self._dropped = {
            "schedulers": self._dropped.get("schedulers", 0) + beyond,
            "collision": self._dropped.get("collision", 0) + collisions,
        }
        return seen


def _run(sources: Iterable[_Printed | OfServers], snapshot: Snapshot, queues: Mapping[str, Seen]) -> Iterator[Samples]:
    facts = [server.facts for server in snapshot.servers if server.facts is not None]
    for source in sources:
        if isinstance(source, OfServers):
            yield source.family.samples(source.rows(facts))
        else:
            yield source.samples(queues)
