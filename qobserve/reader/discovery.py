"""Finds queues in the background, by SCAN with a budget; no scrape ever waits for it."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from qobserve.errors import RedisError, RedisNotReady, RedisTimeout, RedisUnreachable
from qobserve.model.keys import ANCHOR_PATTERN, parse_queue, queue_of_anchor
from qobserve.model.reply import Fault
from qobserve.reader.connection import pack, refusal
from qobserve.reader.topology import topology

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from qobserve.config import TargetSettings
    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply
    from qobserve.reader.connection import Link

LOG = logging.getLogger("qobserve.reader")

_SHARE = 0.2
"""Of the time of Redis that passes after the first one may take; the first goes as fast as it can."""

_CALL_TIMEOUT = 5.0


class Discovery:
    """Keeps `queues` up to date: the static ones always, and those that the last complete pass saw.

    A queue is added as soon as a pass sees it, and dropped by the first complete pass that does not.
    """

    def __init__(self, settings: TargetSettings, alias: str) -> None:
        self._settings = settings
        self._alias = alias
        self._servers = topology(settings)
        self._prefixes = tuple(prefix.encode() for prefix in settings.discovery.prefixes)
        self._static = dict.fromkeys(map(parse_queue, settings.queues.static))
        self._found: dict[QueueId, None] = {}
        self._complete = asyncio.Event()
        self._told = ""
        self.seconds: float | None = None
        if not settings.discovery.enabled:
            self._complete.set()

    @property
    def complete(self) -> bool:
        """Whether a first pass has been made, so that `queues` can be trusted to be all."""
        return self._complete.is_set()

    async def completed(self) -> None:
        """Wait for the first complete pass."""
        await self._complete.wait()

    @property
    def queues(self) -> Iterable[QueueId]:
        """All queues to watch, in the order in which they were found."""
        return self._static | self._found

    def is_static(self, queue: QueueId) -> bool:
        """Whether a person named this queue, so that it is shown even if there is nothing of it."""
        return queue in self._static

    async def run(self) -> None:
        """Pass after pass, until cancelled; trouble with Redis ends a pass, not the run."""
        if not self._settings.discovery.enabled:
            return
        interval = self._settings.discovery.interval
        while True:
            began = time.monotonic()
            try:
                await self._pass()
            except RedisError as exc:
                self._complain(exc)
                await self._servers.moved()
            took = time.monotonic() - began
            # A queue added just after the cursor has gone by is seen by the end of the next pass: still one interval.
            await asyncio.sleep(max(interval - 2 * took, interval / 10))

    async def close(self) -> None:
        """Close the connections."""
        await self._servers.close()

    async def _pass(self) -> None:
        """Search all servers; one that fails does not keep the queues of the others from being found.

        Raises:
            RedisError: What the first that failed said; then no queue is dropped, as it may be there.
        """
        began = time.monotonic()
        seen: dict[QueueId, None] = {}
        failures: list[RedisError] = []
        for link in await self._servers.links():
            try:
                await self._search(link, seen)
            except RedisError as exc:
                failures.append(exc)
        if failures:
            raise failures[0]
        self._report(seen)
        self._found = seen
        self._told = ""
        self.seconds = time.monotonic() - began
        self._complete.set()

    async def _search(self, link: Link, seen: dict[QueueId, None]) -> None:
        async for key in self._scan(link):
            queue = queue_of_anchor(key, self._prefixes)
            if queue is not None and queue not in seen and self._wanted(queue):
                seen[queue] = None
                self._found.setdefault(queue)

    def _complain(self, exc: RedisError) -> None:
        """Log what keeps queues from being found; of a Redis that is down every scrape tells already."""
        told = str(exc)
        down = isinstance(exc, RedisUnreachable | RedisTimeout | RedisNotReady)
        level = logging.DEBUG if down or told == self._told else logging.WARNING
        LOG.log(level, "queue discovery failed", extra={"target": self._alias, "error": told})
        self._told = told

    def _wanted(self, queue: QueueId) -> bool:
        return self._settings.queues.wanted(queue.prefix, queue.name)

    def _report(self, seen: dict[QueueId, None]) -> None:
        for queue in self._found.keys() - seen.keys():
            LOG.info("a queue is gone", extra={"target": self._alias, "queue": str(queue)})

    async def _scan(self, link: Link) -> AsyncIterator[bytes]:
        cursor = b"0"
        count = b"%d" % self._settings.discovery.scan_count
        while True:
            began = time.monotonic()
            cursor, keys = await _ask(link, pack(b"SCAN", cursor, b"MATCH", ANCHOR_PATTERN, b"COUNT", count))
            for key in keys:
                yield key
            if cursor == b"0":
                return
            if self.complete:
                await asyncio.sleep((time.monotonic() - began) * (1 / _SHARE - 1))


async def _ask(link: Link, scan: bytes) -> tuple[bytes, list[bytes]]:
    """The next cursor, and keys."""
    try:
        async with asyncio.timeout(_CALL_TIMEOUT):
            (reply,) = await link.exchange(scan, 1)
    except TimeoutError as exc:
        raise RedisTimeout(f"{link.where} did not answer SCAN within {_CALL_TIMEOUT:g}s") from exc
    return _page(reply, link.where)


def _page(reply: Reply, where: str) -> tuple[bytes, list[bytes]]:
    match reply:
        case [bytes(cursor), list(keys)]:
            return cursor, [key for key in keys if isinstance(key, bytes)]
        case Fault():
            raise refusal(reply, where)
        case _:
            raise RedisError(f"{where} answered SCAN in an unknown form")
