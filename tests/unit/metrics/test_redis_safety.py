"""Whether the server can lose jobs; of several the worst one counts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from golden.page import SERVER

from qobserve.metrics.redis_safety import COLLECTOR
from qobserve.model.snapshot import RedisFacts

if TYPE_CHECKING:
    from collections.abc import Callable

INFO = "bullmq_redis_info"
SAFE = "bullmq_redis_eviction_safe"
AOF = "bullmq_redis_aof_enabled"
EVICTED = "bullmq_redis_evicted_keys_total"
RATIO = "bullmq_redis_memory_ratio"
NAME = 'mode="standalone",role="master",server="valkey",version="9.1.2"'
SILENT = RedisFacts(server="redis", version="", mode="", role="")


def test_one_server(collected: Callable[..., object]) -> None:
    assert collected(COLLECTOR, servers=(SERVER,)) == {
        INFO: {NAME: 1},
        SAFE: {"": 1},
        AOF: {"": 0},
        EVICTED: {"": 0},
        RATIO: {"": 0.75},
    }


def test_of_a_cluster_the_worst_node_counts(collected: Callable[..., object]) -> None:
    worse = replace(SERVER, eviction_policy="allkeys-lru", evicted_keys=3, memory_used=1000, aof_enabled=True)

    assert collected(COLLECTOR, servers=(SERVER, worse, replace(SERVER, evicted_keys=4))) == {
        INFO: {NAME: 1},
        SAFE: {"": 0},
        AOF: {"": 0},
        EVICTED: {"": 7},
        RATIO: {"": 0.9765625},
    }


def test_a_policy_that_evicts_only_volatile_keys_is_not_safe_either(
    collected: Callable[..., dict[str, object]],
) -> None:
    assert collected(COLLECTOR, servers=(replace(SERVER, eviction_policy="volatile-ttl"),))[SAFE] == {"": 0}


def test_without_a_limit_there_is_no_ratio(collected: Callable[..., dict[str, object]]) -> None:
    assert collected(COLLECTOR, servers=(replace(SERVER, memory_limit=0),))[RATIO] == {}


def test_what_no_server_tells_is_absent(collected: Callable[..., object]) -> None:
    nothing: dict[str, dict[str, float]] = {SAFE: {}, AOF: {}, EVICTED: {}, RATIO: {}}

    assert collected(COLLECTOR, servers=()) == {INFO: {}, **nothing}
    assert collected(COLLECTOR, servers=(SILENT,)) == {
        INFO: {'mode="",role="",server="redis",version=""': 1},
        **nothing,
    }
