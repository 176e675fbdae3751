"""Whether the server that keeps the jobs can lose them: the one family set that knows that the store is Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.collector import Collector, OfServers
from qobserve.metrics.family import Family, labels

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qobserve.metrics.family import Row
    from qobserve.model.snapshot import RedisFacts

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


def _info(servers: Sequence[RedisFacts]) -> Iterator[Row]:
    for name in sorted({labels(mode=s.mode, role=s.role, server=s.server, version=s.version) for s in servers}):
        yield name, 1


def _eviction_safe(servers: Sequence[RedisFacts]) -> Iterator[Row]:
    policies = [server.eviction_policy for server in servers if server.eviction_policy is not None]
    if policies:
        yield "", int(all(policy == "noeviction" for policy in policies))


def _aof_enabled(servers: Sequence[RedisFacts]) -> Iterator[Row]:
    enabled = [server.aof_enabled for server in servers if server.aof_enabled is not None]
    if enabled:
        yield "", int(all(enabled))


def _evicted_keys(servers: Sequence[RedisFacts]) -> Iterator[Row]:
    evicted = [server.evicted_keys for server in servers if server.evicted_keys is not None]
    if evicted:
        yield "", sum(evicted)


def _memory_ratio(servers: Sequence[RedisFacts]) -> Iterator[Row]:
    ratios = [s.memory_used / s.memory_limit for s in servers if s.memory_used is not None and s.memory_limit]
    if ratios:
        yield "", max(ratios)


# Of a cluster the worst node counts; what no node tells is absent.
COLLECTOR = Collector(
    "redis_safety",
    (
        OfServers(INFO, _info),
        OfServers(EVICTION_SAFE, _eviction_safe),
        OfServers(AOF_ENABLED, _aof_enabled),
        OfServers(EVICTED_KEYS, _evicted_keys),
        OfServers(MEMORY_RATIO, _memory_ratio),
    ),
)
