"""A Redis that can lose jobs, or is about to refuse them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import duration, increase, lines, plain, select
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_REDIS, SHARE, VALUE
from qobserve.metrics import redis_safety

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms


def group(terms: Terms) -> Group:
    """What is set wrong is a ticket; keys that are gone page."""
    return Group(
        name="qobserve-redis",
        rules=(_evicted(terms), _may_evict(terms), _no_aof(terms), _memory(terms)),
    )


def _evicted(terms: Terms) -> Alert:
    """A node of a cluster that is away for a moment makes the sum fall and rise; with noeviction it is nothing else."""
    window = terms.options.counted_window
    return Alert(
        name="BullMQRedisEvictsKeys",
        severity=Severity.CRITICAL,
        board=Board.OVERVIEW,
        expr=lines(
            f"{increase(terms, redis_safety.EVICTED_KEYS, window)} > 0",
            f"unless {select(terms, redis_safety.EVICTION_SAFE)} == 1",
        ),
        summary=f"Redis {OF_REDIS} drops keys: jobs are being lost.",
        description=f"About {VALUE} keys were evicted in the last {duration(window)} to free memory. Jobs, locks or "
        "whole lists may be among them; a worker runs a job without its data and completes it.",
    )


def _may_evict(terms: Terms) -> Alert:
    return Alert(
        name="BullMQRedisMayEvict",
        severity=Severity.WARNING,
        board=Board.OVERVIEW,
        expr=f"{select(terms, redis_safety.EVICTION_SAFE)} == 0",
        hold=terms.options.redis_settings_for,
        summary=f"Redis {OF_REDIS} may drop keys of jobs.",
        description=f"maxmemory-policy is not noeviction ({redis_safety.EVICTION_SAFE.name} is {VALUE}): when memory "
        "runs out, jobs are lost instead of refused.",
    )


def _no_aof(terms: Terms) -> Alert:
    return Alert(
        name="BullMQRedisAofOff",
        severity=Severity.WARNING,
        board=Board.OVERVIEW,
        expr=f"{select(terms, redis_safety.AOF_ENABLED)} == 0",
        hold=terms.options.redis_settings_for,
        summary=f"Redis {OF_REDIS} keeps no append-only file.",
        description=f"appendonly is off ({redis_safety.AOF_ENABLED.name} is {VALUE}): a restart loses every job that "
        "was added since the last snapshot, or all of them.",
    )


def _memory(terms: Terms) -> Alert:
    return Alert(
        name="BullMQRedisMemoryHigh",
        severity=Severity.WARNING,
        board=Board.OVERVIEW,
        expr=f"{select(terms, redis_safety.MEMORY_RATIO)} > {plain(terms.options.memory_ratio)}",
        hold=terms.options.memory_for,
        summary=f"Redis {OF_REDIS} is nearly out of memory.",
        description=f"It uses {SHARE} of maxmemory. At 100% it refuses new jobs, or drops keys where it may.",
    )
