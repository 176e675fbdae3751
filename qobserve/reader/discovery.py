"""Finds queues in the background, by SCAN with a budget; no scrape ever waits for it."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from qobserve.errors import RedisError, RedisNotReady, RedisTimeout, RedisUnreachable
from qobserve.model.keys import ANCHOR_PATTERN, is_bullmq, parse_queue, queue_of_anchor
from qobserve.model.reply import Fault
from qobserve.reader.connection import pack, refusal
from qobserve.reader.topology import topology

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from qobserve.config import TargetSettings
    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply
    from qobserve.reader.connection import Link

LOG = logging.getLogger("qobserve.reader")

_SHARE = 0.2
"""Of the time of Redis that passes after the first one may take; the first goes as fast as it can."""

_CALL_TIMEOUT = 5.0
_MOST_LINES = 20


class Discovery:
    """Keeps `queues` up to date: the static ones always, and those that the last complete pass saw.

    A queue is added as soon as a pass sees it, and dropped by the first complete pass that does not. Keys that only
    look like a queue's are told by what lies beside them; a queue that was found stays one even if eviction takes the
    keys that told it.
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
            except Exception as exc:  # noqa: BLE001 - a defect must not end the search for good
                self._complain(RedisError(f"{exc!r}; this is a defect of qobserve, please report it"))
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
        async for keys in self._scan(link):
            named = dict.fromkeys(queue for key in keys if (queue := queue_of_anchor(key, self._prefixes)) is not None)
            wanted = [queue for queue in named if queue not in seen and self._wanted(queue)]
            unknown = [queue for queue in wanted if queue not in self._found]
            strangers = set(unknown) - set(await _confirmed(link, unknown))
            for queue in wanted:
                if queue not in strangers:
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
        gone = [queue for queue in self._found if queue not in seen]
        for queue in gone[:_MOST_LINES]:
            LOG.info("a queue is gone", extra={"target": self._alias, "queue": str(queue)})
        if len(gone) > _MOST_LINES:
            LOG.info("more queues are gone", extra={"target": self._alias, "count": len(gone) - _MOST_LINES})

    async def _scan(self, link: Link) -> AsyncIterator[list[bytes]]:
        """Pages of keys; what is done with a page counts into the share of Redis's time."""
        cursor = b"0"
        count = b"%d" % self._settings.discovery.scan_count
        while True:
            began = time.monotonic()
            (reply,) = await _ask(link, "SCAN", pack(b"SCAN", cursor, b"MATCH", ANCHOR_PATTERN, b"COUNT", count))
            cursor, keys = _page(reply, link.where)
            yield keys
            if cursor == b"0":
                return
            if self.complete:
                await asyncio.sleep((time.monotonic() - began) * (1 / _SHARE - 1))


async def _confirmed(link: Link, queues: Sequence[QueueId]) -> list[QueueId]:
    """Those of the queues that are BullMQ's."""
    commands = [
        command
        for queue in queues
        for command in (
            pack(b"HMGET", queue.key(b"meta"), b"opts.maxLenEvents", b"version"),
            pack(b"TYPE", queue.key(b"events")),
        )
    ]
    replies = await _ask(link, "HMGET and TYPE", *commands) if commands else []
    found: list[QueueId] = []
    for queue, meta, events in zip(queues, replies[::2], replies[1::2], strict=True):
        limit, version = meta if isinstance(meta, list) else (meta, None)
        if is_bullmq(limit, version, events):
            found.append(queue)
    return found


async def _ask(link: Link, what: str, *commands: bytes) -> list[Reply]:
    try:
        async with asyncio.timeout(_CALL_TIMEOUT):
            return await link.exchange(b"".join(commands), len(commands))
    except TimeoutError as exc:
        raise RedisTimeout(f"{link.where} did not answer {what} within {_CALL_TIMEOUT:g}s") from exc


def _page(reply: Reply, where: str) -> tuple[bytes, list[bytes]]:
    match reply:
        case [bytes(cursor), list(keys)]:
            return cursor, [key for key in keys if isinstance(key, bytes)]
        case Fault():
            raise refusal(reply, where)
        case _:
            raise RedisError(f"{where} answered SCAN in an unknown form")
