"""One collector over one queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden.page import NOW_MS

from qobserve.metrics.collector import OfBook, OfClock, OfQueue, OfServers, Seen

if TYPE_CHECKING:
    from collections.abc import Callable

    from qobserve.config import Slo
    from qobserve.metrics.collector import Collector
    from qobserve.metrics.family import Row
    from qobserve.model.snapshot import QueueSnapshot, RedisFacts

Rows = dict[str, dict[str, float]]


@pytest.fixture
def collected() -> Callable[..., Rows]:
    """Run a collector over one queue, printed as `q`, without events: values by family and by labels after `q`."""

    def run(
        collector: Collector,
        queue: QueueSnapshot | None = None,
        *,
        servers: tuple[RedisFacts, ...] = (),
        slo: Slo | None = None,
    ) -> Rows:
        found: Rows = {}
        for source in collector.sources:
            rows: list[Row] = []
            used = source.otherwise if isinstance(source, OfBook) else source
            if isinstance(used, OfServers):
                rows = list(used.rows(servers))
            elif isinstance(used, OfQueue | OfClock) and queue is not None:
                rows = list(used.rows("q", Seen(queue, NOW_MS, slo)))
            found[source.family.name] = dict(rows)
            assert len(found[source.family.name]) == len(rows), "a series is printed twice"
        return found

    return run
