"""From a snapshot to metric families: what exists is listed here.

Adding a collector: one file with its families, a pure function and `COLLECTOR`; one line in `COLLECTORS`; one test; its
name in `config.settings.COLLECTOR_NAMES`. The reference in docs/metrics.md is generated.
"""

from __future__ import annotations

from qobserve.metrics import (
    age,
    depth,
    drain,
    events,
    info,
    latency,
    limits,
    payload,
    redis_safety,
    schedulers,
    slo,
    throughput,
    workers,
)

COLLECTORS = (
    depth.COLLECTOR,
    age.COLLECTOR,
    throughput.COLLECTOR,
    latency.COLLECTOR,
    drain.COLLECTOR,
    events.COLLECTOR,
    workers.COLLECTOR,
    limits.COLLECTOR,
    schedulers.COLLECTOR,
    payload.COLLECTOR,
    redis_safety.COLLECTOR,
    slo.COLLECTOR,
    info.COLLECTOR,
)
