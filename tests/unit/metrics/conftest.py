"""One collector over one queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden.page import NOW_MS

from qobserve.metrics.collector import OfServers, Seen

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
        servers: tuple[RedisFacts, ...] = (),
        slo: Slo | None = None,
    ) -> Rows:
        found: Rows = {}
        for source in collector.sources:
            if isinstance(source, OfServers):
                rows = list(source.rows(servers))
            else:
                rows = [] if queue is None else list(source.rows("q", Seen(queue, NOW_MS, slo)))
            found[source.family.name] = dict(rows)
            assert len(found[source.family.name]) == len(rows), "a series is printed twice"
        return found

    return run
