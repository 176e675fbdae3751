"""What a trip to Redis asks of the streams: XREAD of one that is busy, or of many that rest; or where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.reader.connection import pack
from qobserve.reader.follow_pace import GROUP_COUNT, MOST_IN_A_TRIP
from qobserve.reader.follow_place import REPLIES, STREAM_REPLY, place_commands, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from qobserve.model.reply import Fault, Reply
    from qobserve.reader.follow_line import Line
    from qobserve.reader.follow_place import Place
    from qobserve.reader.follow_stream import Stream

_GROUP = 50
_MOST_PLACES = 100


@dataclass(frozen=True, slots=True)
class Read:
    """One XREAD: of which streams, from where, how many entries of each at most, and as the wire has it."""

    streams: Sequence[Stream]
    cursors: Sequence[bytes]
    count: int
    packed: bytes


def plan_alone(streams: Iterable[Stream]) -> Iterator[list[Read]]:
    """Trips that read each of the streams by itself, as many entries as its pace allows."""
    trip: list[Read] = []
    room = MOST_IN_A_TRIP
    for stream in streams:
        if trip and stream.pace.count > room:
            yield trip
            trip, room = [], MOST_IN_A_TRIP
        trip.append(_read([stream], stream.pace.count))
        room -= stream.pace.count
    if trip:
        yield trip


class Together:
    """The streams that are polled together; commands are packed again only where a cursor has moved.

    Args:
        single: Whether no command may name two keys, as in a cluster.
    """

    def __init__(self, *, single: bool) -> None:
        self._size = 1 if single else _GROUP
        self._reads: list[Read] = []

    def set(self, streams: Sequence[Stream]) -> None:
        """Poll these, and no others."""
        groups = (streams[first : first + self._size] for first in range(0, len(streams), self._size))
        self._reads = [_read(group, GROUP_COUNT) for group in groups]

    def trips(self) -> Iterator[list[Read]]:
        """Trips that poll them all."""
        width = max(MOST_IN_A_TRIP // (self._size * GROUP_COUNT), 1)
        for first in range(0, len(self._reads), width):
            for place in range(first, min(first + width, len(self._reads))):
                read = self._reads[place]
                if [stream.cursor for stream in read.streams] != read.cursors:
                    self._reads[place] = _read(read.streams, GROUP_COUNT)
            yield self._reads[first : first + width]


def by_key(reply: Reply) -> Mapping[bytes, Sequence[Reply]]:
    """The entries of each stream that has any, from the reply to XREAD: `[[key, [entry, ...]], ...]`, or nothing."""
    found: dict[bytes, Sequence[Reply]] = {}
    for part in reply if isinstance(reply, list) else ():
        match part:
            case [bytes(key), list(entries)]:
                found[key] = entries
    return found


async def read_places(line: Line, streams: Sequence[Stream]) -> list[tuple[Stream, Place | Fault]]:
    """Look where streams are; those that are on another server are left out.

    Raises:
        RedisError: The server does not serve us.
    """
    places: list[tuple[Stream, Place | Fault]] = []
    for first in range(0, len(streams), _MOST_PLACES):
        asked = streams[first : first + _MOST_PLACES]
        async with line.talk() as talk:
            talk.send(b"".join(place_commands(stream.queue) for stream in asked))
            for stream in asked:
                replies = await talk.receive(REPLIES)
                if not line.is_elsewhere(replies[STREAM_REPLY]):
                    places.append((stream, place_of(replies)))
                await line.breathe()
    return places


def _read(streams: Sequence[Stream], count: int) -> Read:
    keys, cursors = [stream.key for stream in streams], [stream.cursor for stream in streams]
    return Read(streams, cursors, count, pack(b"XREAD", b"COUNT", b"%d" % count, b"STREAMS", *keys, *cursors))
