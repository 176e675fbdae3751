"""One scrape: runs the collectors over a snapshot, each on its own, so that one that fails takes none along."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.metrics import COLLECTORS
from qobserve.metrics.collector import Facts
from qobserve.metrics.exporter import scrape_samples
from qobserve.metrics.family import queue_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from qobserve.config import Slo
    from qobserve.metrics.collector import Collector
    from qobserve.metrics.family import Samples
    from qobserve.model.keys import QueueId
    from qobserve.model.snapshot import QueueSnapshot, Snapshot

LOG = logging.getLogger("qobserve.metrics")


@dataclass(frozen=True, slots=True)
class Collected:
    """The samples of one scrape, and the series that were left out of it, by reason."""

    samples: tuple[Samples, ...]
    dropped: Mapping[str, int]


def collect(
    snapshot: Snapshot,
    *,
    enabled: Mapping[str, bool],
    slo: Callable[[QueueId], Slo | None],
    dropped_before: Mapping[str, int],
    collectors: Iterable[Collector] = COLLECTORS,
) -> Collected:
    """Everything that a scrape of one target shows; `dropped_before` is what earlier scrapes left out."""
    queues, collisions = _distinct(snapshot)
    facts = Facts(snapshot=snapshot, queues=queues, slo=slo)
    unread = {problem.part for problem in snapshot.problems()}
    samples: list[Samples] = []
    succeeded: dict[str, bool] = {}
    for collector in collectors:
        if not enabled.get(collector.name, True):
            continue
        try:
            collected = list(collector.collect(facts))
        except Exception:  # the isolation of one collector from the others is the point of the loop
            LOG.exception("a collector failed", extra={"collector": collector.name})
            collected = []
            unread.add(collector.name)
        samples += collected
        succeeded[collector.name] = snapshot.trouble is None and collector.name not in unread
    left_out = {
        reason: dropped_before.get(reason, 0) + count for reason, count in _left_out(snapshot, collisions).items()
    }
    return Collected((*scrape_samples(snapshot, succeeded, left_out), *samples), left_out)


def _distinct(snapshot: Snapshot) -> tuple[list[tuple[str, QueueSnapshot, int]], int]:
    """Queues with their labels; of two whose names read the same (one of them no UTF-8) the first stays."""
    named: dict[str, tuple[str, QueueSnapshot, int]] = {}
    total = 0
    for server in snapshot.servers:
        total += len(server.queues)
        for queue in server.queues:
            text = queue_labels(queue.queue)
            named.setdefault(text, (text, queue, server.now_ms))
    return list(named.values()), total - len(named)


def _left_out(snapshot: Snapshot, collisions: int) -> dict[str, int]:
    beyond = sum(max((queue.scheduler_count or 0) - len(queue.schedulers), 0) for queue in snapshot.queues())
    return {"schedulers": beyond, "collision": collisions}
