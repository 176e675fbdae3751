"""One collector over one queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden.page import NOW_MS

from qobserve.metrics.collector import Facts
from qobserve.model.snapshot import ServerSnapshot, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from qobserve.config import Slo
    from qobserve.metrics.collector import Collector
    from qobserve.model.snapshot import QueueSnapshot, RedisFacts

Rows = dict[str, dict[str, float]]


@pytest.fixture
def collected() -> Callable[..., Rows]:
    """Run a collector over one queue that is printed as `q`: its values by family and by the labels after `q`."""

    def run(
        collector: Collector,
        queue: QueueSnapshot | None = None,
        *,
        servers: tuple[RedisFacts | None, ...] = (),
        slo: Slo | None = None,
    ) -> Rows:
        snapshot = Snapshot(servers=tuple(ServerSnapshot(now_ms=NOW_MS, facts=facts) for facts in servers))
        queues = [] if queue is None else [("q", queue, NOW_MS)]
        samples = list(collector.collect(Facts(snapshot=snapshot, queues=queues, slo=lambda _: slo)))
        assert tuple(one.family for one in samples) == collector.families
        rows = {one.family.name: dict(one.rows) for one in samples}
        assert sum(map(len, rows.values())) == sum(len(one.rows) for one in samples), "a series was printed twice"
        return rows

    return run
