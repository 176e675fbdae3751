"""One scrape after the other: runs the collectors over snapshots, and prints anew only what has changed.

A queue at rest has the same snapshot, the very object, as last time. What was printed of it is kept, except where the
clock matters. With a thousand queues that halves the cost of a scrape.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from qobserve.metrics import COLLECTORS
from qobserve.metrics.collector import OfQueue, OfServers, Seen, nothing
from qobserve.metrics.exporter import scrape_samples
from qobserve.metrics.family import Samples, queue_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from qobserve.config import Slo
    from qobserve.metrics.collector import Collector
    from qobserve.model.keys import QueueId
    from qobserve.model.snapshot import QueueSnapshot, RedisFacts, Snapshot

LOG = logging.getLogger("qobserve.metrics")


class _Printer:
    """Prints one collector's families; what is as it was last time is kept."""

    def __init__(self, collector: Collector) -> None:
        self._sources = collector.sources
        self._lasting = [each for each in collector.sources if isinstance(each, OfQueue) and each.hinge is not None]
        self._hinges = [each.hinge for each in self._lasting if each.hinge not in (None, nothing)]
        self._kept: dict[str, tuple[QueueSnapshot, list[object], tuple[str, ...]]] = {}

    def samples(self, queues: Mapping[str, Seen], servers: Sequence[RedisFacts]) -> Iterator[Samples]:
        """Each family, in the collector's order."""
        lasting = self._columns(queues)
        for source in self._sources:
            family = source.family
            if isinstance(source, OfServers):
                yield family.samples(source.rows(servers))
            elif source.hinge is not None:
                yield Samples(family, next(lasting, ()))
            else:
                yield Samples(family, tuple([family.lines(source.rows(*queue)) for queue in queues.items()]))

    def _columns(self, queues: Mapping[str, Seen]) -> Iterator[tuple[str, ...]]:
        """For each lasting family the blocks of all queues."""
        before, kept = self._kept, {}
        for labels, seen in queues.items():
            known, hinges = before.get(labels), [hinge(seen) for hinge in self._hinges]
            if known is None or known[0] is not seen.queue or known[1] != hinges:
                blocks = [each.family.lines(each.rows(labels, seen)) for each in self._lasting]
                known = (seen.queue, hinges, tuple(blocks))
            kept[labels] = known
        self._kept = kept
        return zip(*[blocks for _, _, blocks in kept.values()], strict=True)


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
        self._printers = {
            collector.name: _Printer(collector) for collector in collectors if enabled.get(collector.name, True)
        }
        self._dropped: dict[str, int] = {}

    def collect(self, snapshot: Snapshot) -> list[Samples]:
        """Everything that a scrape of the target shows."""
        queues = self._distinct(snapshot)
        unread = {problem.part for problem in snapshot.problems()}
        samples: list[Samples] = []
        succeeded: dict[str, bool] = {}
        servers = [server.facts for server in snapshot.servers if server.facts is not None]
        for name, printer in self._printers.items():
            try:
                samples += list(printer.samples(queues, servers))
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
                beyond += queue.schedulers_hidden
                if labels in seen:
                    collisions += 1
                else:
                    seen[labels] = Seen(queue, server.now_ms, self._slo(queue.queue))
        self._dropped = {
            "schedulers": self._dropped.get("schedulers", 0) + beyond,
            "collision": self._dropped.get("collision", 0) + collisions,
        }
        return seen
