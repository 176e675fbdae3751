"""Asks Sentinels where the servers that they watch are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from qobserve.errors import RedisError, RedisNotReady, RedisTimeout
from qobserve.model.reply import Fault, strings
from qobserve.reader.connection import Address, Link, pack, refusal

if TYPE_CHECKING:
    from qobserve.config import TargetSettings
    from qobserve.model.reply import Reply

_UNHEALTHY = {b"s_down", b"o_down", b"disconnected"}


async def find_server(settings: TargetSettings) -> Address:
    """The address of the primary, or of a healthy replica where replicas are to be read, by the first that knows.

    Raises:
        RedisError: None of them knows; it is what the last one said.
    """
    said: RedisError | None = None
    for node in settings.sentinel:
        try:
            return _address(settings, await _asked(settings, node))
        except RedisError as exc:
            said = exc
    raise said or RedisNotReady("no Sentinel is given")


async def _asked(settings: TargetSettings, node: str) -> Reply:
    """What one Sentinel says, in `redis.connect-timeout` with the connection to it."""
    login = {"user": settings.sentinel_user, "password": settings.sentinel_password, "database": None}
    scheme = "rediss" if settings.sentinel_tls else "redis"
    link = Link(settings.model_copy(update={"url": f"{scheme}://{node}", **login}))
    command = b"GET-MASTER-ADDR-BY-NAME" if settings.read_from == "primary" else b"REPLICAS"
    try:
        async with asyncio.timeout(settings.connect_timeout):
            (reply,) = await link.exchange(pack(b"SENTINEL", command, _master(settings).encode()), 1)
    except TimeoutError as exc:
        raise RedisTimeout(f"Sentinel {node} did not answer in redis.connect-timeout") from exc
    except RedisError as exc:
        raise type(exc)(f"Sentinel {exc}") from exc
    finally:
        await link.close()
    if isinstance(reply, Fault) and "No such master" not in reply.message:
        raise refusal(reply, f"Sentinel {node}")
    return reply


def _address(settings: TargetSettings, reply: Reply) -> Address:
    """Decode [host, port] of the primary, or for each replica a flat list of fields and values."""
    if settings.read_from == "primary":
        match reply:
            case [bytes(host), bytes(port)]:
                return Address(host.decode(), int(port))
    elif isinstance(reply, list):
        for replica in reply:
            flat = strings(replica)
            fields = dict(zip(flat[::2], flat[1::2], strict=False))
            if not _UNHEALTHY & set(fields[b"flags"].split(b",")):
                return Address(fields[b"ip"].decode(), int(fields[b"port"]))
        raise RedisNotReady(f"Sentinel knows no healthy replica of {_master(settings)}: mend it, or read the primary")
    raise RedisNotReady(f"Sentinel knows no master named {_master(settings)}: check redis.sentinel-master")


def _master(settings: TargetSettings) -> str:
    return settings.sentinel_master or ""
