"""A place in a stream: its ends, and the totals that survive trimming, read so that all are of one moment.

Neither a transaction nor a script is open to a user who may only read, so others' commands may come between ours. The
totals are asked for twice, before and after XINFO: where both answers agree, nothing was counted in between, and XINFO
speaks of the very same moment. Where they differ the total is left open, and the next place has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from qobserve.model.events import entry_id, is_missing, last_entry, stream_facts
from qobserve.model.reply import Fault, natural
from qobserve.reader.connection import pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply

EntryId: TypeAlias = "tuple[int, int]"

START: EntryId = (0, 0)
DEFAULT_LIMIT = 10_000
REPLIES = 8
STREAM_REPLY = 3

_FIRST = b"first-entry"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a stream stands.

    Attributes:
        last: The id of the last entry ever written.
        first: The id of the oldest one that is retained.
        length: How many are retained.
        added: How many were ever written; None before Redis 7.
        completed: `metrics:completed`, 0 where the workers keep none; None where it changed while we looked.
        failed: Likewise.
        attempts: `id`, the attempts to add a job; likewise.
        limit: To how many entries the stream is trimmed.
        size: Bytes of its first and last entry.
    """

    last: EntryId = START
    first: EntryId | None = None
    length: int = 0
    added: int | None = 0
    completed: int | None = 0
    failed: int | None = 0
    attempts: int | None = 0
    limit: int = DEFAULT_LIMIT
    size: int = 0


NOWHERE = Place()
"""Before the first entry of a stream, and of its queue."""


def place_commands(queue: QueueId) -> bytes:
    """Ask where a stream is; `REPLIES` of them come back."""
    totals = (
        pack(b"HGET", queue.key(b"metrics:completed"), b"count"),
        pack(b"HGET", queue.key(b"metrics:failed"), b"count"),
        pack(b"GET", queue.key(b"id")),
    )
    stream = pack(b"XINFO", b"STREAM", queue.key(b"events"))
    limit = pack(b"HGET", queue.key(b"meta"), b"opts.maxLenEvents")
    return b"".join((*totals, stream, *totals, limit))


def place_of(replies: Sequence[Reply]) -> Place | Fault:
    """Understand the replies; the fault where the stream itself cannot be looked at."""
    before, stream, after, limit = replies[:3], replies[STREAM_REPLY], replies[4:7], replies[7]
    if isinstance(stream, Fault) and not is_missing(stream):
        return stream
    completed, failed, attempts = (_total(x, y) for x, y in zip(before, after, strict=True))
    facts, last = stream_facts(stream), last_entry(stream)
    return Place(
        last=START if last is None else entry_id(last),
        first=_first(stream),
        length=(facts.retained or 0) if facts else 0,
        added=facts.added if facts else 0,
        completed=completed,
        failed=failed,
        attempts=attempts,
        limit=natural(limit) or DEFAULT_LIMIT,
        size=_size(stream),
    )


def id_bytes(identity: EntryId) -> bytes:
    """An entry's id as Redis writes it."""
    return b"%d-%d" % identity


def _total(before: Reply, after: Reply) -> int | None:
    if before != after or isinstance(before, Fault):
        return None
    return natural(before) or 0


def _first(stream: Reply) -> EntryId | None:
    if not isinstance(stream, list) or _FIRST not in stream[::2]:
        return None
    match stream[2 * stream[::2].index(_FIRST) + 1]:
        case [bytes(identity), *_]:
            return entry_id(identity)
    return None


def _size(reply: Reply) -> int:
    if isinstance(reply, list):
        return sum(map(_size, reply))
    return len(reply) if isinstance(reply, bytes) else 0
