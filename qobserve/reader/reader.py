"""The reader of one target: finds its queues in the background, and looks at all of them when asked."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from qobserve.config import url_database
from qobserve.errors import RedisError, RedisNotReady, RedisTimeout
from qobserve.model.snapshot import ServerSnapshot, Snapshot, Trouble
from qobserve.reader.discovery import Discovery
from qobserve.reader.look import Looker
from qobserve.reader.memory import QueueMemory
from qobserve.reader.topology import topology

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from qobserve.config import TargetSettings
    from qobserve.model.keys import QueueId
    from qobserve.reader.connection import Link
    from qobserve.reader.memory import Followed

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
        self._followed: Followed | None = None
        self._background: asyncio.Task[None] | None = None
        self._running: asyncio.Task[Snapshot] | None = None

    def learn_from(self, followed: Followed) -> None:
        """Take the moments at which jobs became ready from somebody who follows their events, where he knows them."""
        self._followed = followed

    @property
    def queues(self) -> Iterable[QueueId]:
        """The queues that are known now."""
        return self._discovery.queues

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
        deadline = asyncio.get_running_loop().time() + self._settings.timeout
        looks, troubles = await self._look(deadline)
        if self._settings.cluster and (self._redirected() or any(isinstance(x, RedisNotReady) for x in troubles)):
            await self._moved()
            looks, troubles = await self._look(deadline)
        if troubles or self._redirected() or self._demoted(looks):
            await self._moved()
        return Snapshot(
            servers=tuple(looks),
            trouble=Trouble(reason=troubles[0].reason, message=str(troubles[0])) if troubles else None,
            duration_seconds=time.monotonic() - began,
            discovery_seconds=self._discovery.seconds,
        )

    async def _look(self, deadline: float) -> tuple[list[ServerSnapshot], list[RedisError]]:
        """One look at each server at once; that one of a cluster fails or hangs does not take the others along."""
        try:
            async with asyncio.timeout_at(deadline):
                assigned = await self._servers.assign(self._remembered())
        except TimeoutError:
            return [], [_timed_out(self._settings)]
        except RedisError as exc:
            return [], [exc]
        looks = await asyncio.gather(*(self._look_at(link, queues, deadline) for link, queues in assigned.items()))
        return [x for x in looks if isinstance(x, ServerSnapshot)], [x for x in looks if isinstance(x, RedisError)]

    async def _look_at(self, link: Link, queues: Sequence[QueueId], deadline: float) -> ServerSnapshot | RedisError:
        memories = {queue: self._memories[queue] for queue in queues}
        looker = self._lookers.get(link)
        if looker is None:
            limits = self._settings
            looker = Looker(
                schedulers=limits.schedulers_limit,
                most_clients=limits.workers_max_clients,
                cluster=limits.cluster,
                database=url_database(limits.url) if limits.database is None else limits.database,
            )
            self._lookers[link] = looker
        try:
            async with asyncio.timeout_at(deadline):
                return await looker.look(link, memories)
        except TimeoutError:
            return _timed_out(self._settings, f"{link.where}: ")
        except RedisError as exc:
            return exc

    async def _moved(self) -> None:
        self._lookers.clear()
        await self._servers.moved()

    def _redirected(self) -> bool:
        return any(looker.redirected for looker in self._lookers.values())

    def _demoted(self, looks: Sequence[ServerSnapshot]) -> bool:
        """Whether a server that Sentinel called the primary says that it is none: a failover has just passed it by."""
        if not self._settings.sentinel or self._settings.read_from != "primary":
            return False
        return any(look.facts is not None and look.facts.role == "slave" for look in looks)

    def _remembered(self) -> Sequence[QueueId]:
        """The queues to look at now, each with a memory; those that are gone are forgotten."""
        queues = list(self._discovery.queues)
        memories = self._memories
        self._memories = {queue: memories.get(queue) or QueueMemory(followed=self._followed) for queue in queues}
        return queues


def _timed_out(settings: TargetSettings, where: str = "") -> RedisError:
    limit = f"redis.timeout={settings.timeout:g}s"
    return RedisTimeout(f"{where}no answer within {limit}: Redis hangs, is slow, or is far away")
