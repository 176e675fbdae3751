"""Traces without metrics: the queues of all targets are discovered and their events followed, and nothing is served."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from qobserve.reader.reader import Reader
from qobserve.server.following import Following, FollowPlan

if TYPE_CHECKING:
    from qobserve.config import Settings
    from qobserve.tracing.provider import Export

LAST_SPANS_SECONDS = 3.0
"""How long the end waits for an endpoint to take the last spans."""


class Traces:
    """Traces all targets of the settings.

    Args:
        settings: Which Redis, and what is wanted of their traces.
        export: The way out for spans; closed along with the rest.
    """

    def __init__(self, settings: Settings, export: Export) -> None:
        plan = FollowPlan(follow=settings.follow, metrics=None, tracing=settings.tracing, export=export)
        self._emitter = export.emitter
        self._readers = {alias: Reader(target, alias) for alias, target in settings.targets.items()}
        self._following = [
            Following(alias, target, plan, self._readers[alias]) for alias, target in settings.targets.items()
        ]

    async def start(self) -> None:
        """Begin to discover, follow and send; returns at once."""
        self._emitter.start()
        await asyncio.gather(*(reader.start() for reader in self._readers.values()))
        await asyncio.gather(*(following.start() for following in self._following))

    async def close(self) -> None:
        """Tell what has been read, send what is held, and close all connections."""
        await asyncio.gather(*(following.close() for following in self._following))
        await asyncio.gather(*(reader.close() for reader in self._readers.values()))
        await asyncio.to_thread(self._emitter.close, LAST_SPANS_SECONDS)
