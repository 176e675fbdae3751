"""A queue's event stream: how much was ever written to it, and when a job last became ready according to its tail.

Source of the facts: docs/bullmq-format.md#events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.model.reply import Fault, natural, whole

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from qobserve.model.reply import Reply

_MISSING = "ERR no such key"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFacts:
    """What XINFO STREAM tells: entries ever added (None before Redis 7), retained, and the ms of the last one."""

    added: int | None
    retained: int | None
    last_ms: int | None


NO_STREAM = StreamFacts(added=None, retained=None, last_ms=None)


def is_missing(reply: Reply) -> bool:
    """Whether XINFO's error only says that there is no stream."""
    return isinstance(reply, Fault) and reply.message == _MISSING


def stream_facts(reply: Reply) -> StreamFacts | None:
    """Decode XINFO STREAM's flat list; None for anything else."""
    if not isinstance(reply, list):
        return None
    facts = {name: value for name, value in zip(reply[::2], reply[1::2], strict=False) if isinstance(name, bytes)}
    return StreamFacts(
        added=natural(facts.get(b"entries-added")),
        retained=natural(facts.get(b"length")),
        last_ms=_entry_ms(facts.get(b"last-generated-id")) or None,
    )


def entry_bytes(reply: Reply) -> int:
    """How large the entries of a stream may be, by the first and the last one in XINFO STREAM's reply."""
    return max(map(_size, reply), default=0) if isinstance(reply, list) else 0


def ready_events(reply: Reply, wanted: AbstractSet[bytes]) -> dict[bytes, int]:
    """When each wanted job last became ready, on the server's clock, from XREVRANGE's entries (newest first).

    Every way into `wait` and into `prioritized` writes a `waiting` event.
    """
    found: dict[bytes, int] = {}
    for entry_id, fields in _entries(reply):
        job = fields.get(b"jobId")
        if job in wanted and job not in found and fields.get(b"event") == b"waiting":
            ms = _entry_ms(entry_id)
            if job is not None and ms is not None:
                found[job] = ms
    return found


def _entries(reply: Reply) -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
    if not isinstance(reply, list):
        return
    for entry in reply:
        match entry:
            case [bytes(entry_id), list(flat)]:
                texts = [item if isinstance(item, bytes) else b"" for item in flat]
                yield entry_id, dict(zip(texts[::2], texts[1::2], strict=False))


def _entry_ms(entry_id: Reply) -> int | None:
    return whole(entry_id.partition(b"-")[0]) if isinstance(entry_id, bytes) else None


def _size(entry: Reply) -> int:
    if isinstance(entry, list):
        return sum(_size(item) for item in entry)
    return len(entry) if isinstance(entry, bytes) else 0
