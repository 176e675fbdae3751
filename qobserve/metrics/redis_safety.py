"""Whether the server that keeps the jobs can lose them: the one family set that knows that the store is Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector
from qobserve.metrics.family import Family, labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Samples

INFO = Family(
    "bullmq_redis_info",
    "gauge",
    "1, with the server's kind, version, mode and role.",
    ("mode", "role", "server", "version"),
)
EVICTION_SAFE = Family(
    "bullmq_redis_eviction_safe",
    "gauge",
    "1 when maxmemory-policy is noeviction, as BullMQ needs it; 0 when the server may drop keys of jobs.",
    (),
)
AOF_ENABLED = Family(
    "bullmq_redis_aof_enabled",
    "gauge",
    "1 when the append-only file is on; without it a restart loses what was added since the last snapshot.",
    (),
)
EVICTED_KEYS = Family(
    "bullmq_redis_evicted_keys_total", "counter", "Keys that the server dropped to free memory, since it started.", ()
)
MEMORY_RATIO = Family(
    "bullmq_redis_memory_ratio",
    "gauge",
    "Used memory as a share of maxmemory; at 1 the server evicts keys or refuses writes. Absent without a limit.",
    (),
)


def _collect(facts: Facts) -> Iterator[Samples]:
    """Of a cluster, the worst node counts; what no node tells is absent."""
    servers = [server.facts for server in facts.snapshot.servers if server.facts is not None]
    names = {labels(mode=s.mode, role=s.role, server=s.server, version=s.version) for s in servers}
    yield INFO.samples((name, 1) for name in sorted(names))
    policies = [server.eviction_policy for server in servers if server.eviction_policy is not None]
    yield EVICTION_SAFE.samples([("", int(all(policy == "noeviction" for policy in policies)))] if policies else ())
    logged = [server.aof_enabled for server in servers if server.aof_enabled is not None]
    yield AOF_ENABLED.samples([("", int(all(logged)))] if logged else ())
    evicted = [server.evicted_keys for server in servers if server.evicted_keys is not None]
    yield EVICTED_KEYS.samples([("", sum(evicted))] if evicted else ())
    ratios = [s.memory_used / s.memory_limit for s in servers if s.memory_used is not None and s.memory_limit]
    yield MEMORY_RATIO.samples([("", max(ratios))] if ratios else ())


COLLECTOR = Collector("redis_safety", (INFO, EVICTION_SAFE, AOF_ENABLED, EVICTED_KEYS, MEMORY_RATIO), _collect)
