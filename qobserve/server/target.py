"""One target as it is served: its reader, and what becomes of the reader's snapshots."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from qobserve.metrics.collection import Collection
from qobserve.metrics.exposition import render
from qobserve.model.snapshot import Snapshot, Trouble
from qobserve.server.complaints import Complaints
from qobserve.server.following import Following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from qobserve.config import TargetSettings
    from qobserve.metrics.family import Samples
    from qobserve.metrics.tally import Tally
    from qobserve.reader.reader import Reader
    from qobserve.server.following import FollowPlan

    MakeReader: TypeAlias = Callable[[TargetSettings, str], Reader]

LOG = logging.getLogger("qobserve.server")

PATIENCE = 30.0
"""Seconds that a replaced target stands in for its successor at most."""

_WARM_RETRY = 1.0

_LEAST_SHARE = 0.2
"""Of a scrape's time, what the reader gets however long printing takes; compressing leaves at least half before."""


class Target:
    """Answers the scrapes of one target.

    Args:
        alias: Its name in logs.
        settings: Which Redis, and which of its queues.
        make_reader: Makes the reader of a target.
        plan: How its events are followed; None if they are not.
    """

    def __init__(
        self, alias: str, settings: TargetSettings, make_reader: MakeReader, plan: FollowPlan | None = None
    ) -> None:
        self.settings = settings
        self._reader = make_reader(settings, alias)
        self._following = None if plan is None else Following(alias, settings, plan, self._reader)
        self._alias = alias
        self._complaints = Complaints(alias)
        self._pages = _Pages(Collection(enabled={}, slo=lambda _: None))
        self._seen = asyncio.Event()
        self._troubled = False
        self._running = 0
        self._idle = asyncio.Event()
        self._warming: asyncio.Task[None] | None = None

    @property
    def seen(self) -> bool:
        """Whether all its queues were read once."""
        return self._seen.is_set()

    @property
    def works(self) -> bool:
        """Whether all its queues were read once, and the last look went well too."""
        return self.seen and not self._troubled

    @property
    def tally(self) -> Tally | None:
        """What was counted of its events; None where they are not followed."""
        return None if self._following is None else self._following.tally

    def collect_by(self, collection: Collection) -> None:
        """Use the collectors of the settings in force."""
        self._pages = _Pages(collection, self._pages.seconds)

    async def start(self) -> None:
        """Start the reader and what follows events, and take the first full snapshot without being asked."""
        await self._reader.start()
        if self._following is not None:
            await self._following.start()
        self._warming = asyncio.create_task(self._warm(), name=f"warm-up {self._alias}")

    async def seen_once(self) -> None:
        """Wait for the first full snapshot, but not for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._seen.wait()

    async def retire(self) -> None:
        """Let the scrapes under way have their answers, then close."""
        self._idle.clear()
        if self._running:
            # Each has its own timeout, and a look at a cluster ends after at most twice that of the settings.
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE + 2 * self.settings.timeout):
                    await self._idle.wait()
        await self.close()

    async def close(self) -> None:
        """Stop the reader and close its connections; harmless when done already."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)
        if self._following is not None:
            await self._following.close()
        await self._reader.close()

    async def page(self, seconds: float, content_type: str, own: Callable[[], list[Samples]]) -> bytes:
        """What a scrape shows, behind the exporter's `own` metrics; reading and printing take `seconds`."""
        with self._scraping():
            snapshot = await self._snapshot(max(seconds - self._pages.seconds, seconds * _LEAST_SHARE))
            return self._pages.page(snapshot, content_type, own)

    @contextmanager
    def _scraping(self) -> Iterator[None]:
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _snapshot(self, seconds: float) -> Snapshot:
        """What the reader tells, or that it did not in time, or that it failed in a way that nobody foresaw."""
        complete = self._reader.discovered
        try:
            async with asyncio.timeout(seconds):
                snapshot = await self._reader.snapshot()
        except TimeoutError:
            message = f"no snapshot within the {seconds:.3g}s that this scrape may take; Redis is slow or hangs"
            snapshot = Snapshot(trouble=Trouble(reason="timeout", message=message), duration_seconds=seconds)
        except Exception as exc:  # isolated on purpose: a defect must not cost the answer, which names it
            LOG.debug("reading failed in an unforeseen way", extra={"target": self._alias}, exc_info=True)
            snapshot = Snapshot(trouble=Trouble(reason="internal", message=_defect(exc)))
        self._complaints.hear(snapshot.trouble, list(snapshot.problems()))
        self._troubled = snapshot.trouble is not None
        if complete and not self._troubled:
            self._seen.set()
        return snapshot

    async def _warm(self) -> None:
        await self._reader.discovered_once()
        while not self.seen:
            await self._snapshot(self.settings.timeout)
            if not self.seen:
                await asyncio.sleep(_WARM_RETRY)


class _Pages:
    """Prints snapshots by one collection; scrapes that share a snapshot share what is printed of it."""

    def __init__(self, collection: Collection, seconds: float = 0.0) -> None:
        self._collection = collection
        self._snapshot: Snapshot | None = None
        self._families: list[Samples] = []
        self._printed: dict[tuple[str, object], bytes] = {}
        self._collecting = 0.0
        self.seconds = seconds

    def page(self, snapshot: Snapshot, content_type: str, own: Callable[[], list[Samples]]) -> bytes:
        """The page of a snapshot; `seconds` tells how long the last one took of a Redis that could be read."""
        if snapshot is not self._snapshot:
            began = time.monotonic()
            self._families = self._collection.collect(snapshot)
            self._snapshot, self._printed = snapshot, {}
            self._collecting = time.monotonic() - began
        key = (content_type, own)
        if key not in self._printed:
            began = time.monotonic()
            self._printed[key] = render([*own(), *self._families], content_type)
            if snapshot.trouble is None:
                self.seconds = self._collecting + time.monotonic() - began
        return self._printed[key]


def _defect(exc: Exception) -> str:
    return f"{type(exc).__name__}: {exc}; this is a defect of qobserve, please report it"
