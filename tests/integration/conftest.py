"""Fixtures of the integration tests: BullMQ in each of its versions, and looks at single queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.drivers import DRIVERS, driving

from qobserve.config import DiscoverySettings, QueueSettings, TargetSettings
from qobserve.reader.reader import Reader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from rig.drivers import Driver
    from rig.servers import Server

    from qobserve.model.snapshot import QueueSnapshot


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, server: Server) -> Iterator[Driver]:
    """A driver of each version in turn, on `server`."""
    with driving(request.param, server) as started:
        yield started


@pytest.fixture
async def watching(server: Server) -> AsyncIterator[Callable[..., Callable[[], Awaitable[QueueSnapshot]]]]:
    """Watches queues of `server`, none of which has been looked at: each call is one look, and tells of the first."""
    readers: list[Reader] = []

    def watch(*queues: str) -> Callable[[], Awaitable[QueueSnapshot]]:
        choice = {"discovery": DiscoverySettings(enabled=False), "queues": QueueSettings(static=queues)}
        reader = Reader(TargetSettings(url=server.url, **choice), "watched")  # type: ignore[arg-type]  # by their names
        readers.append(reader)

        async def look() -> QueueSnapshot:
            snapshot = await reader.snapshot()
            assert snapshot.trouble is None
            assert list(snapshot.problems()) == []
            return next(queue for queue in snapshot.queues() if str(queue.queue) == queues[0])

        return look

    yield watch
    for reader in readers:
        await reader.close()
