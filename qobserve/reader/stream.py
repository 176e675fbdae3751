"""What the event stream of a queue tells about jobs that could be the oldest; read in bounded pieces when one is new.

Two pieces: the newest entries, and those that follow what was read last time. The first finds jobs that have just come,
the second walks along a backlog as fast as its jobs become the oldest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.events import entry_bytes, entry_id, ready_events
from qobserve.reader.connection import pack
from qobserve.reader.memory import ReadyEvent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.model.job import JobTimes
    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply
    from qobserve.reader.memory import QueueMemory


def stream_commands(queue: QueueId, memory: QueueMemory, last: bytes, count: int) -> list[bytes]:
    """Ask for at most `count` entries; `last` is the id of the newest one."""
    key = queue.key(b"events")
    if memory.cursor is None or memory.shallow or entry_id(last) < entry_id(memory.cursor):  # from its end, then
        return [pack(b"XREVRANGE", key, b"+", b"-", b"COUNT", b"%d" % count)]
    half = b"%d" % max(count // 2, 1)
    return [
        pack(b"XRANGE", key, b"(" + memory.cursor, b"+", b"COUNT", half),
        pack(b"XREVRANGE", key, b"+", b"-", b"COUNT", half),
    ]


def forget_unproven(memory: QueueMemory) -> None:
    """Drop the events that later ones may have overtaken unseen: all but those whose job's hash proves them."""
    memory.events = {job: event for job, event in memory.events.items() if event.times is not None}
    memory.asked = {}


def absorb(memory: QueueMemory, replies: Sequence[Reply], last: bytes, kept: int) -> bool:
    """Remember what the entries tell; whether everything up to `last` has been read.

    Args:
        memory: The queue's.
        replies: To `stream_commands`.
        last: As there.
        kept: How many events to keep, the newest.
    """
    pieces = [reply for reply in replies if isinstance(reply, list)]
    if len(pieces) < len(replies):
        return False
    memory.entry_bytes = max(*map(entry_bytes, pieces), (memory.entry_bytes or 0) // 2)
    if len(pieces) == 1:
        forget_unproven(memory)
    for job, ms in sorted(ready_events(pieces).items(), key=lambda event: event[1]):
        known = memory.events.pop(job, None)
        memory.events[job] = known if known is not None and known.ms >= ms else ReadyEvent(ms, None)
    for job in list(memory.events)[: max(len(memory.events) - kept, 0)]:
        del memory.events[job]
    if len(pieces) == 1:
        memory.cursor = last
        return True
    forward, newest = pieces
    last = max(last, _identity(newest[:1], last), key=entry_id)  # entries may have come since `last` was told
    memory.cursor = _identity(forward[-1:], last)
    return entry_id(memory.cursor) >= entry_id(last)


def _identity(entries: Sequence[Reply], otherwise: bytes) -> bytes:
    """The id of the one entry, if there is one."""
    match entries:
        case [[bytes(identity), *_]]:
            return identity
        case _:
            return otherwise


def event_of(memory: QueueMemory, job: bytes, times: JobTimes, *, up_to_date: bool) -> int | None:
    """When the job became ready, if an event tells it that speaks of this wait and not of an earlier one.

    Args:
        memory: The queue's.
        job: Which job.
        times: What its hash says.
        up_to_date: Whether the stream was just read up to its end, so that no later event of the job can be missing.
    """
    event = memory.events.get(job)
    if event is None:
        return None
    if event.times is None:
        since = times.timestamp if times.fresh else times.processed_on
        speaks = up_to_date or (since is not None and since <= event.ms)
    else:
        speaks = times.same_wait(event.times)
    if not speaks:
        return None
    memory.events[job] = ReadyEvent(event.ms, times)
    return event.ms


def forget_the_past(memory: QueueMemory, times: Mapping[bytes, JobTimes]) -> None:
    """Drop events and questions of jobs whose hash says something else now."""
    for job, now in times.items():
        event = memory.events.get(job)
        if event is not None and event.times is not None and not now.same_wait(event.times):
            del memory.events[job]
    memory.asked = {job: then for job, then in memory.asked.items() if job in times and then.same_wait(times[job])}
