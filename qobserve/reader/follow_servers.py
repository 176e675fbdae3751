"""The followers of one target's servers: one task for each, which fails and begins again by itself."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from qobserve.errors import RedisError
from qobserve.reader.follow_server import ServerFollower

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.questions import Question
    from qobserve.model.run import Card
    from qobserve.reader.connection import Link
    from qobserve.reader.follow_health import Health
    from qobserve.reader.follow_server import Following
    from qobserve.reader.follow_sink import Sinks
    from qobserve.reader.follow_stream import Stream

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_LAG = 1.0


class Servers:
    """All servers that hold queues of the target."""

    def __init__(self, health: Health, sinks: Sinks) -> None:
        self._health = health
        self._sinks = sinks
        self._followers: dict[Link, ServerFollower] = {}
        self._tasks: dict[Link, asyncio.Task[None]] = {}
        self._of_queue: dict[QueueId, ServerFollower] = {}
        self._lagging: set[QueueId] = set()
        self._timed: set[QueueId] = set()

    @property
    def behind(self) -> bool:
        """Whether any stream has more to read."""
        return any(server.behind for server in self._followers.values())

    @property
    def mistaken(self) -> bool:
        """Whether a server said that a queue is on another one."""
        return any(server.line.elsewhere for server in self._followers.values())

    async def follow(
        self, assigned: Mapping[Link, Sequence[Stream]], following: Following, *, first_look: bool
    ) -> None:
        """Follow these streams on these servers, and no others; see `ServerFollower.follow`."""
        gone = [link for link in self._followers if link not in assigned]
        await cancelled([self._tasks.pop(link) for link in gone])
        for link in gone:
            self._health.over(self._followers.pop(link))
        for link, streams in assigned.items():
            server = self._followers.get(link)
            if server is None:
                server = self._followers[link] = ServerFollower(link, following)
                self._tasks[link] = asyncio.create_task(self._serve(server), name=f"follow {link.where}")
            server.line.elsewhere = False
            server.follow(streams, first_look=first_look)
        self._of_queue = {x.queue: self._followers[link] for link, streams in assigned.items() for x in streams}

    async def close(self) -> None:
        """Stop all."""
        await cancelled(list(self._tasks.values()))
        self._tasks.clear()

    async def cards(self, questions: Sequence[Question]) -> dict[Question, Card | None]:
        """The cards of jobs, for the fold; those of a server that does not answer now are left out."""
        found: dict[Question, Card | None] = {}
        asked: dict[ServerFollower, list[Question]] = {}
        for question in questions:
            server = self._of_queue.get(question.queue)
            if server is None:
                found[question] = None
            elif not self._health.failing(server):
                asked.setdefault(server, []).append(question)
        for server, several in asked.items():
            try:
                found.update(await server.cards(several))
            except RedisError as exc:
                self._health.fails(server, exc)
        return found

    def tell_lags(self) -> None:
        """Tell the lag of each queue that is behind, once more when it is not any longer, and of each new one."""
        now = time.monotonic()
        lags: dict[QueueId, float] = {}
        for server in self._followers.values():
            if self._health.failing(server):
                lags.update(dict.fromkeys((stream.queue for stream in server.streams), now - server.read_at))
            else:
                lags.update({x.queue: now - x.behind_since for x in server.behind if x.begun})
        lags = {queue: lag for queue, lag in lags.items() if lag > _LAG}
        for queue in (self._lagging & self._of_queue.keys()) | lags.keys() | (self._of_queue.keys() - self._timed):
            self._sinks.lag(queue, lags.get(queue, 0.0))
        self._timed = set(self._of_queue)
        self._lagging = set(lags)

    async def _serve(self, server: ServerFollower) -> None:
        """Read one server, round after round, until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            try:
                await server.read()
                self._health.reads(server)
                pause = _FIRST_PAUSE
                await server.nap()
                continue
            except RedisError as exc:
                self._health.fails(server, exc)
            except Exception as exc:  # noqa: BLE001 - a defect must not end following for good
                self._health.fails(server, defect(exc))
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)


async def cancelled(tasks: Sequence[asyncio.Task[None]]) -> None:
    """End tasks, and wait for their end."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.gather(*tasks, return_exceptions=True)


def defect(exc: Exception) -> RedisError:
    """What nobody foresaw, as an error that is told like others."""
    return RedisError(f"{exc!r}; this is a defect of qobserve, please report it")
