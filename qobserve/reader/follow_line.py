"""The one connection to a server over which its streams are followed: a trip at a time, each with an end in time."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from qobserve.errors import RedisTimeout, RedisUnreachable
from qobserve.model.reply import Fault
from qobserve.reader.connection import refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from qobserve.model.reply import Reply
    from qobserve.reader.connection import Link, Talk

_WHOLE_SERVER = {"LOADING", "MASTERDOWN", "CLUSTERDOWN", "NOAUTH", "BUSY"}
_ELSEWHERE = {"MOVED", "ASK", "TRYAGAIN"}
_BREATH = 0.008


class Line:
    """A link that several tasks share.

    Args:
        link: The connection.
        timeout: Seconds that one trip may take.
        reopens: Whether to connect again to the same address when the other side has hung up; a server that Sentinel
            names may be another one by then.

    Attributes:
        elsewhere: Whether the server said that it does not hold a queue that it was asked about.
    """

    def __init__(self, link: Link, timeout: float, *, reopens: bool) -> None:
        self.where = link.where
        self.elsewhere = False
        self._link = link
        self._timeout = timeout
        self._reopens = reopens
        self._lock = asyncio.Lock()
        self._breathed = 0.0

    @asynccontextmanager
    async def talk(self) -> AsyncIterator[Talk]:
        """Talk to the server, when nobody else does.

        Raises:
            RedisError: It does not serve us, or not in time.
        """
        async with self._lock:
            if self._link.lost and not self._reopens:
                raise RedisUnreachable(f"{self.where} has closed the connection")
            try:
                async with asyncio.timeout(self._timeout), self._link.talk() as talk:
                    self._breathed = time.monotonic()
                    yield talk
            except TimeoutError as exc:
                limit = f"redis.timeout={self._timeout:g}s"
                raise RedisTimeout(f"{self.where}: no answer within {limit}: Redis hangs, or is far away") from exc

    async def breathe(self) -> None:
        """Let others have the loop, if they have not had it for some milliseconds."""
        if time.monotonic() - self._breathed > _BREATH:
            await asyncio.sleep(0)
            self._breathed = time.monotonic()

    def is_elsewhere(self, reply: Reply) -> bool:
        """Whether the answer is that another server has the queue.

        Raises:
            RedisError: The answer is that the server serves nobody now.
        """
        if not isinstance(reply, Fault):
            return False
        if reply.code in _WHOLE_SERVER:
            raise refusal(reply, self.where)
        self.elsewhere = self.elsewhere or reply.code in _ELSEWHERE
        return reply.code in _ELSEWHERE
