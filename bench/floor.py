"""The least that a scrape can cost: the same bytes on a blocking socket, the replies parsed and thrown away."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import hiredis
from rig.recorder import recording

from qobserve.config import DiscoverySettings, QueueSettings, TargetSettings
from qobserve.reader.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rig.recorder import Trip

_CHUNK = 1 << 20
_LEARNING = 12
"""Scrapes within which the reader learns all that it can of queues that stand still, and takes them for quiet."""

_MOST_SCRAPES = 30


async def record(port: int, queues: Sequence[str]) -> list[Trip]:
    """The round trips of a scrape, once the reader has learnt all that it remembers of queues that stand still.

    Raises:
        RuntimeError: No two scrapes in a row asked as much.
    """
    async with recording(port) as recorder:
        settings = TargetSettings(
            url=f"redis://127.0.0.1:{recorder.port}/0",
            timeout=60,
            discovery=DiscoverySettings(enabled=False),
            queues=QueueSettings(static=tuple(queues)),
        )
        reader = Reader(settings, "recorded")
        try:
            before = 0
            for scrapes in range(_MOST_SCRAPES):
                recorder.trips.clear()
                trouble = (await reader.snapshot()).trouble
                if trouble:
                    raise RuntimeError(trouble.message)
                commands = sum(trip.replies for trip in recorder.trips)
                if scrapes >= _LEARNING and commands == before:
                    return list(recorder.trips)
                before = commands
        finally:
            await reader.close()
    raise RuntimeError(f"the scrapes still differ after {_MOST_SCRAPES}")


class Floor:
    """Replays recorded round trips, one write each."""

    def __init__(self, port: int, trips: Sequence[Trip]) -> None:
        self._trips = trips
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def go(self) -> float:
        """Seconds that one replay takes.

        Raises:
            RuntimeError: There were not as many replies as were recorded.
        """
        began = time.perf_counter()
        for request, replies in self._trips:
            self._socket.sendall(request)
            reader = hiredis.Reader()
            received = 0
            while received < replies:
                reader.feed(self._socket.recv(_CHUNK))
                while reader.gets() is not False:
                    received += 1
            if received != replies:
                raise RuntimeError(f"{received} replies where {replies} were recorded")
        return time.perf_counter() - began

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
