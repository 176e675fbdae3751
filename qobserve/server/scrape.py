"""From settings to the text of a scrape: one reader for each target, and what its snapshots become."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from qobserve.config import DEFAULT_TARGET
from qobserve.metrics.collection import Collection
from qobserve.metrics.exporter import build_samples
from qobserve.metrics.exposition import negotiate, render
from qobserve.metrics.process import process_samples
from qobserve.model.snapshot import Snapshot, Trouble
from qobserve.reader.reader import Reader
from qobserve.server.complaints import Complaints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from qobserve.config import Settings, Slo, TargetSettings
    from qobserve.metrics.family import Samples
    from qobserve.model.keys import QueueId

LOG = logging.getLogger("qobserve.server")

_WARM_RETRY = 1.0


@dataclass(frozen=True, slots=True)
class Scrape:
    """One answer to Prometheus."""

    body: bytes
    content_type: str


class _Target:
    """One target: its reader, and what becomes of its snapshots; `collection` is set by the settings in force."""

    def __init__(self, alias: str, settings: TargetSettings) -> None:
        self.settings = settings
        self.reader = Reader(settings, alias)
        self.complaints = Complaints(alias)
        self.collection = Collection(enabled={}, slo=lambda _: None)
        self.seen = False
        self._warming: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self.reader.start()
        self._warming = asyncio.create_task(self._warm())

    async def close(self) -> None:
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)
        await self.reader.close()

    async def snapshot(self, seconds: float) -> Snapshot:
        """What the reader tells, or that it did not in time."""
        complete = self.reader.discovered
        try:
            async with asyncio.timeout(seconds):
                snapshot = await self.reader.snapshot()
        except TimeoutError:
            message = f"no snapshot within the {seconds:g}s that this scrape may take; Redis is slow or hangs"
            snapshot = Snapshot(trouble=Trouble(reason="timeout", message=message), duration_seconds=seconds)
        self.complaints.hear(snapshot.trouble, list(snapshot.problems()))
        self.seen = self.seen or (complete and snapshot.trouble is None)
        return snapshot

    async def _warm(self) -> None:
        """Take the first full snapshot without being asked, so that readiness does not wait for a scrape."""
        await self.reader.discovered_once()
        while not self.seen:
            await self.snapshot(self.settings.timeout)
            if not self.seen:
                await asyncio.sleep(_WARM_RETRY)


class Scraper:
    """Answers scrapes of all targets by the settings in force."""

    def __init__(self, settings: Settings) -> None:
        self._targets = {alias: _Target(alias, target) for alias, target in _effective(settings)}
        self._collect_by(settings)

    async def start(self) -> None:
        """Start the readers."""
        await asyncio.gather(*(target.start() for target in self._targets.values()))

    async def close(self) -> None:
        """Stop the readers and close their connections."""
        await asyncio.gather(*(target.close() for target in self._targets.values()))

    async def reload(self, settings: Settings) -> None:
        """Use new settings; a target whose own did not change goes on as it is."""
        old = self._targets
        kept = {
            alias: old[alias] if alias in old and old[alias].settings == target else _Target(alias, target)
            for alias, target in _effective(settings)
        }
        self._targets = kept
        self._collect_by(settings)
        ended = [target for alias, target in old.items() if kept.get(alias) is not target]
        begun = [target for alias, target in kept.items() if old.get(alias) is not target]
        await asyncio.gather(*(target.close() for target in ended), *(target.start() for target in begun))

    def _collect_by(self, settings: Settings) -> None:
        for target in self._targets.values():
            target.collection = Collection(enabled=settings.collectors, slo=_promises(settings))

    def ready(self) -> bool:
        """Whether every target was read in full once; one that goes down later shows as `bullmq_up 0` instead."""
        return all(target.seen for target in self._targets.values())

    def aliases(self) -> tuple[str, ...]:
        """The names of all targets."""
        return tuple(self._targets)

    async def scrape(self, alias: str | None, *, timeout: float, accept: str) -> Scrape:  # noqa: ASYNC109 - it bounds an answer that must be given anyway, it does not cancel
        """The metrics of a target; with no alias those of the default one, and the exporter's own."""
        content_type = negotiate(accept)
        families: list[Samples] = [] if alias is not None else [build_samples(), *process_samples()]
        target = self._targets.get(DEFAULT_TARGET if alias is None else alias)
        if target is not None:
            families += target.collection.collect(await target.snapshot(timeout))
        return Scrape(body=render(families, content_type), content_type=content_type)


def _effective(settings: Settings) -> Iterator[tuple[str, TargetSettings]]:
    """Each target; where workers are not collected, connections are not listed."""
    for alias, target in settings.targets.items():
        if settings.collectors.get("workers", True):
            yield alias, target
        else:
            yield alias, target.model_copy(update={"workers_max_clients": 0})


def _promises(settings: Settings) -> Callable[[QueueId], Slo | None]:
    @cache
    def slo(queue: QueueId) -> Slo | None:
        return settings.slo_for(queue.prefix, queue.name)

    return slo
