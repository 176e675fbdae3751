"""Follows the event streams of all queues of one target, and tells what happens to jobs as it happens."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from qobserve.errors import RedisError
from qobserve.reader.follow_fold import Folder
from qobserve.reader.follow_health import Health
from qobserve.reader.follow_keep import Keeper, Memory
from qobserve.reader.follow_report import Report
from qobserve.reader.follow_server import Following
from qobserve.reader.follow_servers import Servers, cancelled, defect
from qobserve.reader.follow_sink import Sink, Sinks
from qobserve.reader.follow_stream import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from qobserve.config import TargetSettings
    from qobserve.model.keys import QueueId
    from qobserve.model.lifecycle import Lifecycle
    from qobserve.reader.topology import Topology

__all__ = ["Follower", "Memory", "Sink"]

LOG = logging.getLogger("qobserve.reader")

_TICK = 0.2
_SAVE_EVERY = 5.0
_LAG_EVERY = 1.0
_ASK_EVERY = 1.0
_LAST_FOLD = 5.0
_MOST_GONE = 10_000


class Follower:
    """Follows one target; it is made and closed by whoever owns the target, beside its `Reader`.

        follower = Follower(
            settings, alias, lambda: reader.queues, topology(settings), Lifecycle(most_open), [tally],
            discovered=lambda: reader.discovered, checkpoint=path, memory=tally,
        )
        await follower.start()
        ...
        await follower.close()

    `start` returns at once; a Redis that is down is tried again and again, with one line in the log when it goes and
    one when it comes back. `close` folds what has been read, and writes the checkpoint.

    Args:
        settings: Which Redis.
        alias: The target's name in logs.
        queues: The queues to follow, asked several times a second.
        topology: Where they are; it belongs to the follower from now on, which needs connections of its own.
        lifecycle: The fold, made with `cards=True` where every job's card is wanted.
        sinks: Who is told.
        discovered: Whether the first search for queues is complete: queues that turn up later are taken to be new, and
            counted from their first event on.
        past: Whether to read all that is retained, and tell what lies before our start as not live.
        checkpoint: The file by which to go on after a restart.
        memory: Whose counts the file holds as well.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - each is a part that the owner chooses
        self,
        settings: TargetSettings,
        alias: str,
        queues: Callable[[], Sequence[QueueId]],
        topology: Topology,
        lifecycle: Lifecycle,
        sinks: Sequence[Sink],
        *,
        discovered: Callable[[], bool] = lambda: True,
        past: bool = False,
        checkpoint: Path | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._replaced = bool(settings.sentinel) or settings.cluster
        self._alias = alias
        self._queues = queues
        self._topology = topology
        self._discovered = discovered
        self._keeper = Keeper(checkpoint, memory, alias)
        self._sinks = Sinks(sinks, alias)
        self._health = Health(alias)
        self._servers = Servers(self._health, self._sinks)
        self._folder = Folder(lifecycle, self._sinks, self._servers, alias)
        report = Report(self._sinks, alias)
        self._following = Following(settings=settings, past=past, folder=self._folder, report=report)
        self._streams: dict[QueueId, Stream] = {}
        self._gone: dict[QueueId, Stream] = {}
        self._background: list[asyncio.Task[None]] = []
        self._first_look = True
        self._moved_at = 0.0

    @property
    def caught_up(self) -> bool:
        """Whether all known queues were read up to their end a moment ago, and all of it was told."""
        if self._first_look or not self._health.good or not self._folder.idle:
            return False
        if any(queue not in self._streams for queue in self._queues()):
            return False
        return not self._servers.behind

    async def start(self) -> None:
        """Begin to follow."""
        for saved in await self._keeper.restore():
            stream = self._gone[saved.queue] = Stream(saved.queue)
            stream.resume(saved, past=self._following.past)
        self._background = [
            asyncio.create_task(self._folder.run(), name=f"fold {self._alias}"),
            asyncio.create_task(self._run(), name=f"follow {self._alias}"),
        ]

    async def close(self) -> None:
        """Stop reading, tell what has been read, write the checkpoint, close all connections; harmless twice."""
        fold, self._background = self._background[:1], self._background[1:]
        await cancelled(self._background)
        await self._servers.close()
        self._background = []
        if fold:
            try:
                async with asyncio.timeout(_LAST_FOLD):
                    await self._folder.emptied()
            except TimeoutError:
                LOG.warning("events that were read could not be told in time", extra={"target": self._alias})
            await cancelled(fold)
            await self._save()
        await self._topology.close()

    async def _run(self) -> None:
        """Keep the followers of the servers in step with queues and topology, until cancelled."""
        known: list[QueueId] | None = None
        save_due = lag_due = time.monotonic() + _LAG_EVERY
        while True:
            try:
                known = await self._keep_step(known)
                now = time.monotonic()
                if now >= lag_due:
                    lag_due = now + _LAG_EVERY
                    self._servers.tell_lags()
                if now >= save_due and self._folder.empty:
                    save_due = now + _SAVE_EVERY
                    await self._save()
            except RedisError as exc:
                known = None
                self._health.fails(self, exc)
            except Exception as exc:  # noqa: BLE001 - a defect must not end following for good
                known = None
                self._health.fails(self, defect(exc))
            await asyncio.sleep(_TICK)

    async def _keep_step(self, known: list[QueueId] | None) -> list[QueueId]:
        """Assign queues to servers where either has changed; `known` are those that were assigned last."""
        discovered = self._discovered()  # before the queues: they are all that were there, if it is so already
        queues = list(self._queues())
        now = time.monotonic()
        suspicious = not self._health.good or self._servers.mistaken
        if queues == known and not (suspicious and now - self._moved_at >= _ASK_EVERY):
            self._first_look = self._first_look and not discovered
            return queues
        if suspicious and self._replaced:
            self._moved_at = now
            await self._topology.moved()
        assigned = await self._topology.assign(queues)
        self._learn(queues)
        streams = {link: [self._streams[queue] for queue in held] for link, held in assigned.items()}
        await self._servers.follow(streams, self._following, first_look=self._first_look or not discovered)
        self._forget(self._streams.keys() - set(queues))
        self._first_look = self._first_look and not discovered
        self._health.over(self)
        return queues

    def _learn(self, queues: Sequence[QueueId]) -> None:
        for queue in queues:
            if queue not in self._streams:
                self._streams[queue] = self._gone.pop(queue) if queue in self._gone else Stream(queue)
                self._sinks.known(queue)

    def _forget(self, gone: Iterable[QueueId]) -> None:
        """Forget queues, but not how far they were read: what was counted is not to be counted again."""
        for queue in gone:
            self._gone[queue] = self._streams.pop(queue)
            self._folder.forget(queue)
            self._sinks.forget(queue)
        for queue in list(self._gone)[: max(len(self._gone) - _MOST_GONE, 0)]:
            del self._gone[queue]

    async def _save(self) -> None:
        await self._keeper.save([*self._streams.values(), *self._gone.values()])
