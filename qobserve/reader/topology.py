"""Which server holds which queue: a single one, the primary that Sentinel names, or the nodes of a cluster."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from redis.crc import key_slot

from qobserve.errors import RedisError, RedisNotReady, RedisTimeout
from qobserve.model.reply import Fault
from qobserve.reader.connection import Address, Link, pack, refusal
from qobserve.reader.sentinel import find_server

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from qobserve.config import TargetSettings
    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply


class Topology(Protocol):
    """The servers of one target; every method raises `RedisError` when they cannot be had."""

    async def links(self) -> Sequence[Link]:
        """All servers that hold queues, one link each; of a replicated one, the primary or a replica as set."""
        ...

    async def assign(self, queues: Iterable[QueueId]) -> Mapping[Link, list[QueueId]]:
        """The queues by the server that holds them; every server is there, also with none."""
        ...

    async def moved(self) -> None:
        """Forget where things were: a server said that it is not the one, or could not be reached."""
        ...

    async def close(self) -> None:
        """Close every link."""
        ...


def topology(settings: TargetSettings) -> Topology:
    """The topology that the settings ask for."""
    if settings.cluster:
        return Cluster(settings)
    return Single(settings)


class Single:
    """One server, at the address of the URL or at the one that Sentinel names whenever a connection is made."""

    def __init__(self, settings: TargetSettings) -> None:
        self._settings = settings
        self._link: Link | None = None

    async def links(self) -> Sequence[Link]:
        """The one link; where Sentinel names the server, it is asked again once that one has closed the connection."""
        if self._settings.sentinel and self._link is not None and self._link.lost:
            await self.moved()
        if self._link is None:
            address = await find_server(self._settings) if self._settings.sentinel else None
            self._link = Link(self._settings, address)
        return (self._link,)

    async def assign(self, queues: Iterable[QueueId]) -> Mapping[Link, list[QueueId]]:
        """All queues on the one link."""
        (link,) = await self.links()
        return {link: list(queues)}

    async def moved(self) -> None:
        """Close the link; the next one asks Sentinel again."""
        await self.close()
        self._link = None

    async def close(self) -> None:
        """Close the link."""
        if self._link is not None:
            await self._link.close()


class Cluster:
    """The nodes of a Redis Cluster; the slot map is asked for when it is first needed and after a redirection."""

    def __init__(self, settings: TargetSettings) -> None:
        self._settings = settings
        self._seed = Link(settings)
        self._links: dict[Address, Link] = {}
        self._slots: list[tuple[int, int, Address]] = []

    async def links(self) -> Sequence[Link]:
        """One link for each shard."""
        await self._map()
        return [self._links[address] for _, _, address in _one_each(self._slots)]

    async def assign(self, queues: Iterable[QueueId]) -> Mapping[Link, list[QueueId]]:
        """Queues by the shard of their base key; BullMQ needs a hash tag that keeps a queue in one slot."""
        assigned: dict[Link, list[QueueId]] = {link: [] for link in await self.links()}
        for queue in queues:
            slot = key_slot(queue.base)
            for first, last, address in self._slots:
                if first <= slot <= last:
                    assigned[self._links[address]].append(queue)
                    break
        return assigned

    async def moved(self) -> None:
        """Drop the slot map; the links stay, to ask the nodes for the new one and for those that did not move."""
        self._slots.clear()

    async def close(self) -> None:
        """Close every link."""
        for link in (self._seed, *self._links.values()):
            await link.close()

    async def _map(self) -> None:
        if self._slots:
            return
        slots = await self._any_node_answers()
        replica = self._settings.read_from == "replica"
        addresses = {address for _, _, address in slots}
        for gone in self._links.keys() - addresses:
            await self._links.pop(gone).close()
        for new in addresses - self._links.keys():
            self._links[new] = Link(self._settings, new, readonly=replica)
        self._slots = slots

    async def _any_node_answers(self) -> list[tuple[int, int, Address]]:
        """Ask the node of the URL, then those known from before, so that the death of one does not blind us."""
        said: RedisError | None = None
        for link in (self._seed, *self._links.values()):
            try:
                async with asyncio.timeout(self._settings.connect_timeout):
                    (reply,) = await link.exchange(pack(b"CLUSTER", b"SLOTS"), 1)
                return list(_shards(reply, link, replica=self._settings.read_from == "replica"))
            except TimeoutError as exc:
                said = RedisTimeout(f"{link.where} did not answer in redis.connect-timeout")
                said.__cause__ = exc
            except RedisError as exc:
                said = exc
        raise said or RedisNotReady("the cluster has no nodes")


def _shards(reply: Reply, asked: Link, *, replica: bool) -> Iterable[tuple[int, int, Address]]:
    """Decode CLUSTER SLOTS: [first, last, [host, port, ...] of the primary, then of each replica].

    A node that does not know its own host leaves it empty, says `?`, or nil: it is the one that was asked.
    """
    if isinstance(reply, Fault):
        raise refusal(reply, asked.where)
    if not isinstance(reply, list) or not reply:
        raise RedisNotReady(f"{asked.where} is a cluster without slots; finish setting it up")
    for row in reply:
        match row:
            case [int(first), int(last), *nodes] if nodes:
                node = nodes[1] if replica and len(nodes) > 1 else nodes[0]
                host, port = node[:2] if isinstance(node, list) else (None, None)
                if isinstance(port, int):
                    known = host.decode() if isinstance(host, bytes) and host != b"?" else ""
                    yield first, last, Address(known or asked.host, port)
                    continue
        raise RedisNotReady(f"{asked.where} answered CLUSTER SLOTS in an unknown form")


def _one_each(slots: Iterable[tuple[int, int, Address]]) -> Iterable[tuple[int, int, Address]]:
    return {row[2]: row for row in slots}.values()
