"""A queue's event stream: how much was ever written to it, and when a job last became ready according to its tail.

Source of the facts: docs/bullmq-format.md#events.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.model.reply import Fault, natural, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from qobserve.model.reply import Reply

_MISSING = "ERR no such key"
_LAST = b"last-generated-id"
_FIRST = b"first-entry"


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
        last_ms=entry_id(last)[0] if (last := last_entry(reply)) else None,
    )


def entry_bytes(reply: Reply) -> int:
    """How large entries may be, by the largest one: of a list of them, or of the two in XINFO STREAM's reply."""
    return max(map(_size, reply), default=0) if isinstance(reply, list) else 0


def is_gap(reply: Reply, cursor: bytes) -> bool:
    """Whether entries behind the cursor may be gone unread, by XINFO STREAM's reply: trimmed, or the whole stream is.

    An entry that follows the cursor at once looks the same as one that does not, where that of the cursor is gone.
    """
    last = last_entry(reply)
    if last is None or entry_id(last) < entry_id(cursor):
        return True
    first = reply[2 * reply[::2].index(_FIRST) + 1] if isinstance(reply, list) and _FIRST in reply[::2] else None
    retained = entry_id(first[0]) if isinstance(first, list) and first and isinstance(first[0], bytes) else None
    return last != cursor and (retained is None or retained > entry_id(cursor))


def last_entry(reply: Reply) -> bytes | None:
    """The id of the newest entry ever written, from XINFO STREAM's reply; None for an empty stream or none."""
    if not isinstance(reply, list):
        return None
    names = reply[::2]
    found = reply[2 * names.index(_LAST) + 1] if _LAST in names else None
    return found if isinstance(found, bytes) and entry_id(found) > (0, 0) else None


def with_last_entry(reply: Reply, entries: Reply) -> Reply:
    """XINFO STREAM's reply of an earlier time, told of newer `entries`, if there are any."""
    match entries:
        case [[bytes(identity), *_], *_] if isinstance(reply, list) and _LAST in reply[::2]:
            place = 2 * reply[::2].index(_LAST) + 1
            return [*reply[:place], identity, *reply[place + 1 :]]
        case _:
            return reply


def entry_id(raw: bytes) -> tuple[int, int]:
    """An entry's id in a form that can be compared: ms of the server's clock, and a number within it."""
    ms, _, sequence = raw.partition(b"-")
    return whole(ms) or 0, whole(sequence) or 0


def ready_events(pieces: Iterable[Reply]) -> dict[bytes, int]:
    """When each job last became ready (ms, the server's clock), from entries in any order.

    Every way into `wait` and into `prioritized` writes a `waiting` event.
    """
    found: dict[bytes, int] = {}
    for piece in pieces:
        for identity, fields in _entries(piece):
            job = fields.get(b"jobId")
            ms, _ = entry_id(identity)
            if job is not None and fields.get(b"event") == b"waiting" and ms:
                found[job] = max(ms, found.get(job, 0))
    return found


def _entries(reply: Reply) -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
    if not isinstance(reply, list):
        return
    for entry in reply:
        match entry:
            case [bytes(identity), list(flat)]:
                texts = [item if isinstance(item, bytes) else b"" for item in flat]
                yield identity, dict(zip(texts[::2], texts[1::2], strict=False))


def _size(entry: Reply) -> int:
    if isinstance(entry, list):
        return sum(_size(item) for item in entry)
    return len(entry) if isinstance(entry, bytes) else 0
