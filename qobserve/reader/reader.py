"""The reader of one target: finds its queues in the background, and looks at all of them when asked."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from qobserve.errors import RedisError, RedisTimeout
from qobserve.model.snapshot import ServerSnapshot, Snapshot, Trouble
from qobserve.reader.discovery import Discovery
from qobserve.reader.look import Looker
from qobserve.reader.memory import QueueMemory
from qobserve.reader.topology import topology

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.config import TargetSettings
    from qobserve.model.keys import QueueId
    from qobserve.reader.connection import Link

LOG = logging.getLogger("qobserve.reader")


class Reader:
    """Reads one target; `snapshot` may be called from many tasks at once, which then share one look.

    Args:
        settings: Which Redis, and which of its queues.
        alias: The target's name in logs.
    """

    def __init__(self, settings: TargetSettings, alias: str) -> None:
        self._settings = settings
        self._alias = alias
        self._servers = topology(settings)
        self._discovery = Discovery(settings, alias)
        self._lookers: dict[Link, Looker] = {}
        self._memories: dict[QueueId, QueueMemory] = {}
        self._background: asyncio.Task[None] | None = None
        self._running: asyncio.Task[Snapshot] | None = None

    @property
    def discovered(self) -> bool:
        """Whether the first search for queues is complete."""
        return self._discovery.complete

    async def discovered_once(self) -> None:
        """Wait for the first complete search for queues."""
        await self._discovery.completed()

    async def start(self) -> None:
        """Begin to search for queues."""
        self._background = asyncio.create_task(self._discovery.run(), name=f"discovery {self._alias}")

    async def close(self) -> None:
        """Stop everything and close all connections."""
        tasks = [task for task in (self._background, self._running) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._discovery.close()
        await self._servers.close()

    async def snapshot(self) -> Snapshot:
        """Look at all known queues now; never raises for trouble with Redis, which the snapshot tells instead."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._snapshot(), name=f"snapshot {self._alias}")
        return await asyncio.shield(self._running)

    async def _snapshot(self) -> Snapshot:
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.timeout):
                looks, troubles = await self._look()
        except TimeoutError:
            looks, troubles = [], [_timed_out(self._settings)]
        except RedisError as exc:
            looks, troubles = [], [exc]
        if troubles or any(looker.redirected for looker in self._lookers.values()):
            self._lookers.clear()
            await self._servers.moved()
        return Snapshot(
            servers=tuple(looks),
            trouble=Trouble(reason=troubles[0].reason, message=str(troubles[0])) if troubles else None,
            duration_seconds=time.monotonic() - began,
            discovery_seconds=self._discovery.seconds,
        )

    async def _look(self) -> tuple[list[ServerSnapshot], list[RedisError]]:
        """One look at each server at once; that one of a cluster fails does not take the others along."""
        assigned = await self._servers.assign(self._remembered())
        looks = await asyncio.gather(
            *(self._look_at(link, queues) for link, queues in assigned.items()), return_exceptions=True
        )
        for outcome in looks:
            if isinstance(outcome, BaseException) and not isinstance(outcome, RedisError):
                raise outcome
        return [x for x in looks if isinstance(x, ServerSnapshot)], [x for x in looks if isinstance(x, RedisError)]

    async def _look_at(self, link: Link, queues: Sequence[QueueId]) -> ServerSnapshot:
        memories = {queue: self._memories[queue] for queue in queues}
        looker = self._lookers.get(link)
        if looker is None:
            limits = self._settings
            looker = Looker(schedulers=limits.schedulers_limit, most_clients=limits.workers_max_clients)
            self._lookers[link] = looker
        return await looker.look(link, memories, always=self._discovery.is_static)

    def _remembered(self) -> Sequence[QueueId]:
        """The queues to look at now, each with a memory; those that are gone are forgotten."""
        queues = list(self._discovery.queues)
        self._memories = {queue: self._memories.get(queue) or QueueMemory() for queue in queues}
        return queues


def _timed_out(settings: TargetSettings) -> RedisError:
    return RedisTimeout(f"no answer within redis.timeout={settings.timeout:g}s: Redis hangs, is slow, or is far away")
