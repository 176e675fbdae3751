"""The truth about a queue, read by brute force: whole lists and sets, every job, nothing of qobserve in it.

Slow and memory-hungry on purpose. One transaction reads the states, so that no job is in two of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    import redis

LISTS = {"waiting": "wait", "paused": "paused", "active": "active"}
SORTED_SETS = {
    "prioritized": "prioritized",
    "delayed": "delayed",
    "waiting-children": "waiting-children",
    "completed": "completed",
    "failed": "failed",
}
STATES = (*LISTS, *SORTED_SETS)
_MARKER = "0:"
_DELAY_UNIT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """One queue at one moment; moments are milliseconds since the epoch, `now_ms` on the server's clock.

    Attributes:
        ids: Job ids by state, without fake ids; each state is there, also when empty.
        since_ms: The oldest job of a state, by definition (`ready_at` for waiting and prioritized); None for no job, or
            none that is known: one promoted by hand has no known moment. `waiting` covers the legacy `paused` list.
        due_ms: When the first delayed job is due.
        add_attempts: The counter behind the job ids.
        completed: Finished well, as the workers' own metrics count; None where they keep none.
    """

    now_ms: int
    ids: dict[str, list[str]]
    since_ms: dict[str, int | None]
    due_ms: int | None
    paused: bool
    add_attempts: int | None
    completed: int | None
    failed: int | None
    schedulers: int
    version: str

    @property
    def jobs(self) -> dict[str, int]:
        """Job counts by state."""
        return {state: len(ids) for state, ids in self.ids.items()}

    def age_seconds(self, state: str) -> float | None:
        """The age of the oldest job of a state: 0 for none, None for unknown."""
        since = self.since_ms[state]
        if since is None:
            held = self.ids[state] or (state == "waiting" and self.ids["paused"])
            return None if held else 0.0
        return max(0, self.now_ms - since) / 1000


def read(client: redis.Redis, queue: str, *, prefix: str = "bull") -> Truth:
    """Everything about one queue.

    Args:
        client: A client whose answers are bytes.
        queue: The queue's name.
        prefix: Its prefix.
    """
    base = f"{prefix}:{queue}"
    with client.pipeline(transaction=True) as pipe:
        pipe.time()
        for suffix in LISTS.values():
            pipe.lrange(f"{base}:{suffix}", 0, -1)
        for suffix in SORTED_SETS.values():
            pipe.zrange(f"{base}:{suffix}", 0, -1, withscores=True)
        pipe.hgetall(f"{base}:meta")
        pipe.get(f"{base}:id")
        pipe.hget(f"{base}:metrics:completed", "count")
        pipe.hget(f"{base}:metrics:failed", "count")
        pipe.zcard(f"{base}:repeat")
        now, *answers, meta, counter, completed, failed, schedulers = pipe.execute()
    ids: dict[str, list[str]] = {}
    scores: dict[str, list[float]] = {}
    for state, answer in zip(STATES, answers, strict=True):
        pairs = [pair if isinstance(pair, tuple | list) else (pair, 0.0) for pair in answer]
        named = [(member.decode(), score) for member, score in pairs]
        ids[state] = [member for member, _ in named if not member.startswith(_MARKER)]
        scores[state] = [score for _, score in named]
    now_ms = now[0] * 1000 + now[1] // 1000
    return Truth(
        now_ms=now_ms,
        ids=ids,
        since_ms=_since(client, base, ids, scores, now_ms),
        due_ms=min((int(score) // _DELAY_UNIT for score in scores["delayed"]), default=None),
        paused=b"paused" in meta,
        add_attempts=_number(counter),
        completed=_number(completed),
        failed=_number(failed),
        schedulers=schedulers,
        version=meta.get(b"version", b"").decode().rpartition(":")[2],
    )


def _since(
    client: redis.Redis, base: str, ids: dict[str, list[str]], scores: dict[str, list[float]], now_ms: int
) -> dict[str, int | None]:
    def ready(state_ids: Iterable[str]) -> int | None:
        moments = [ready_at(_hash(client, f"{base}:{job}")) for job in state_ids]
        return min((moment for moment in moments if moment is not None and moment <= now_ms), default=None)

    started = [_number(_hash(client, f"{base}:{job}").get(b"processedOn")) for job in ids["active"]]
    return {
        "waiting": ready([*ids["waiting"], *ids["paused"]]),
        "prioritized": ready(ids["prioritized"]),
        "active": min((moment for moment in started if moment is not None), default=None),
        "waiting-children": min((int(score) for score in scores["waiting-children"]), default=None),
        "failed": min((int(score) for score in scores["failed"]), default=None),
    }


def ready_at(job: dict[bytes, bytes]) -> int | None:
    """From when on a worker could have taken a job, as far as its hash tells; None where the hash tells nothing.

    The later of `timestamp` + `opts.delay` and, for a job that has run before, the last start + the back-off after
    the attempts made so far. A custom back-off counts as none, and so does that of a job that has ever stalled.
    """
    timestamp = _number(job.get(b"timestamp"))
    if timestamp is None:
        return None
    options = json.loads(job.get(b"opts", b"{}"))
    moment = timestamp + int(options.get("delay") or 0)
    started = _number(job.get(b"processedOn"))
    if started is None:
        return moment
    if _number(job.get(b"stc")) or _number(job.get(b"stalledCounter")):
        return max(moment, started)
    made = _number(job.get(b"atm")) or _number(job.get(b"attemptsMade")) or 0
    return max(moment, started + _back_off(options.get("backoff"), made))


def _back_off(option: object, made: int) -> int:
    if not isinstance(option, dict) or made < 1:
        return 0
    delay = int(option.get("delay") or 0)
    known: dict[str, int] = {"fixed": delay, "exponential": delay << (made - 1)}
    return known.get(option.get("type", ""), 0)


def queues(client: redis.Redis) -> set[tuple[str, str]]:
    """Every queue (prefix, name): whatever has a `meta` hash or an `id` counter, found by looking at all keys."""
    found = set()
    for raw in cast("list[bytes]", client.keys("*")):
        base, _, suffix = raw.decode().rpartition(":")
        if (suffix, client.type(raw)) in {("meta", b"hash"), ("id", b"string")}:
            prefix, _, name = base.rpartition(":")
            found.add((prefix, name))
    return found


def _hash(client: redis.Redis, key: str) -> dict[bytes, bytes]:
    return cast("dict[bytes, bytes]", client.hgetall(key))


def _number(raw: bytes | None) -> int | None:
    return None if raw is None else int(raw)
