"""Keeps the checkpoint of a follower: reads it once, writes it now and then; without the file all works, but anew."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from qobserve.reader.checkpoint import CheckpointError, Saved, load, save

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from qobserve.reader.checkpoint import Counts, SavedStream
    from qobserve.reader.follow_stream import Stream

LOG = logging.getLogger("qobserve.reader")


class Memory(Protocol):
    """Whoever counts, and wants to go on from there after a restart."""

    def saved(self) -> Counts:
        """All counts."""

    def restore(self, saved: Counts) -> None:
        """Go on from these."""


class Keeper:
    """Keeps one checkpoint; with no `path` it keeps nothing."""

    def __init__(self, path: Path | None, memory: Memory | None, alias: str) -> None:
        self._path = path
        self._memory = memory
        self._alias = alias
        self._told = ""

    async def restore(self) -> Sequence[SavedStream]:
        """Give the counts back to their owner; how far the streams had been read."""
        if self._path is None:
            return ()
        try:
            saved = await asyncio.to_thread(load, self._path)
        except CheckpointError as exc:
            LOG.warning("following begins anew", extra={"target": self._alias, "error": str(exc)})
            return ()
        if saved is None:
            return ()
        if self._memory is not None:
            self._memory.restore(saved.counts)
        return saved.streams

    async def save(self, streams: Iterable[Stream]) -> None:
        """Write how far these have been read, and what has been counted; both are taken before anything is awaited."""
        if self._path is None:
            return
        saved = Saved(
            streams=tuple(stream.saved() for stream in streams if stream.begun),
            counts=self._memory.saved() if self._memory is not None else {},
        )
        try:
            await asyncio.to_thread(save, self._path, saved)
            self._told = ""
        except CheckpointError as exc:
            level = logging.DEBUG if str(exc) == self._told else logging.WARNING
            LOG.log(level, "the checkpoint was not written", extra={"target": self._alias, "error": str(exc)})
            self._told = str(exc)
