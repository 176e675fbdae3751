"""Which server holds which queue: a single one, the primary that Sentinel names, or the nodes of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from redis.asyncio.sentinel import Sentinel
from redis.crc import key_slot

from qobserve.errors import RedisNotReady, RedisUnreachable
from qobserve.model.reply import Fault
from qobserve.reader.connection import Address, Link, pack, refusal, revealed, translated

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
        """The one link."""
        if self._link is None:
            address = await _ask_sentinel(self._settings) if self._settings.sentinel else None
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


async def _ask_sentinel(settings: TargetSettings) -> Address:
    """The address of the primary, or of a replica, from the first sentinel that knows."""
    name = settings.sentinel_master or ""
    options = {
        "socket_timeout": settings.connect_timeout,
        "socket_connect_timeout": settings.connect_timeout,
        "username": settings.sentinel_user,
        "password": revealed(settings.sentinel_password),
    }
    nodes = [_host_port(node) for node in settings.sentinel]
    sentinel = Sentinel(nodes, sentinel_kwargs=options)  # type: ignore[no-untyped-call]  # untyped in redis-py
    try:
        with translated(f"Sentinel of {name}"):
            if settings.read_from == "primary":
                host, port = await sentinel.discover_master(name)
            else:
                replicas = await sentinel.discover_slaves(name)
                if not replicas:
                    raise RedisNotReady(f"Sentinel knows no healthy replica of {name}: mend it, or read the primary")
                host, port = replicas[0]
            return Address(_said(host), int(port))
    finally:
        for client in sentinel.sentinels:
            await client.aclose()


def _said(host: object) -> str:
    return host.decode() if isinstance(host, bytes) else str(host)


def _host_port(node: str) -> tuple[str, int]:
    host, _, port = node.rpartition(":")
    return host.strip("[]"), int(port)


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
        """Drop the slot map and the links."""
        await self.close()
        self._links.clear()
        self._slots.clear()

    async def close(self) -> None:
        """Close every link."""
        for link in (self._seed, *self._links.values()):
            await link.close()

    async def _map(self) -> None:
        if self._slots:
            return
        (reply,) = await self._any_node_answers(pack(b"CLUSTER", b"SLOTS"))
        if isinstance(reply, Fault):
            raise refusal(reply, self._seed.where)
        replica = self._settings.read_from == "replica"
        self._slots = list(_shards(reply, self._seed.where, replica=replica))
        for _, _, address in self._slots:
            if address not in self._links:
                self._links[address] = Link(self._settings, address, readonly=replica)

    async def _any_node_answers(self, command: bytes) -> list[Reply]:
        """Ask the node of the URL, then those known from before, so that the death of one does not blind us."""
        lost: RedisUnreachable | None = None
        for link in (self._seed, *self._links.values()):
            try:
                return await link.exchange(command, 1)
            except RedisUnreachable as exc:
                lost = exc
        raise lost or RedisUnreachable(f"{self._seed.where} is not reachable")


def _shards(reply: Reply, where: str, *, replica: bool) -> Iterable[tuple[int, int, Address]]:
    """Decode CLUSTER SLOTS: [first, last, [host, port, ...] of the primary, then of each replica]."""
    if not isinstance(reply, list) or not reply:
        raise RedisNotReady(f"{where} is a cluster without slots; finish setting it up")
    seed_host = where.rpartition("@")[2].rpartition("/")[2].rpartition(":")[0]
    for row in reply:
        match row:
            case [int(first), int(last), [bytes(host), int(port), *_], *replicas]:
                if replica and replicas and isinstance(replicas[0], list):
                    host, port = replicas[0][:2]  # type: ignore[assignment]  # the same shape as the primary's
                yield first, last, Address(host.decode() or seed_host, port)
            case _:
                raise RedisNotReady(f"{where} answered CLUSTER SLOTS in an unknown form")


def _one_each(slots: Iterable[tuple[int, int, Address]]) -> Iterable[tuple[int, int, Address]]:
    return {row[2]: row for row in slots}.values()
