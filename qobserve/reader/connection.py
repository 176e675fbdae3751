"""One connection to one server, over which whole batches of commands travel; redis-py's errors become ours here.

redis-py opens the connection. The batches bypass its pipeline, whose work for each command costs several times what
Redis itself takes for it: here a batch is one write, and hiredis parses.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict
from urllib.parse import unquote, urlsplit

import hiredis
import redis.exceptions as theirs
from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection

from qobserve.config import redacted, url_database
from qobserve.errors import RedisError, RedisNotReady, RedisRefused, RedisTimeout, RedisUnreachable
from qobserve.model.reply import Fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from pydantic import SecretStr

    from qobserve.config import TargetSettings
    from qobserve.model.reply import Reply

_CHUNK = 1 << 20
_NOT_NOW = {"LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY", "MOVED", "ASK"}
_NO = {"NOAUTH", "WRONGPASS", "NOPERM"}


def pack(*command: bytes) -> bytes:
    """One command in the wire's form, to be joined with others into a batch."""
    return bytes(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub means a tuple of any length


def refusal(fault: Fault, where: str) -> RedisError:
    """The exception for an error that concerns the whole server and not one key."""
    if fault.code in _NOT_NOW:
        return RedisNotReady(f"{where} cannot serve now: {fault.message}")
    if fault.code in _NO:
        return RedisRefused(f"{where} refused: {fault.message}; check the user, the password and the ACL")
    return RedisError(f"{where} answered an error: {fault.message}")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class _Batched(AbstractConnection):
    """redis-py's connection with one more verb: a batch out, its replies back.

    It stands before redis-py's own classes, which connect, and not between them: there TCP would win over all others.
    """

    @property
    def lost(self) -> bool:
        """Whether the other side has closed the connection since it was made."""
        ended = self._reader is not None and self._reader.at_eof()
        return ended or (self._writer is not None and self._writer.is_closing())

    def send(self, batch: bytes) -> None:
        if self._writer is None:
            raise ConnectionResetError("not connected")
        self._writer.write(batch)

    async def receive(self, parser: hiredis.Reader, surplus: list[Reply], replies: int) -> list[Reply]:
        if self._reader is None:
            raise ConnectionResetError("not connected")
        parsed, keep = parser.gets, surplus.append  # bound once: there are tens of thousands of replies
        while len(surplus) < replies:
            chunk = await self._reader.read(_CHUNK)
            if not chunk:
                raise ConnectionResetError("the server closed the connection in the middle of an answer")
            parser.feed(chunk)
            while (reply := parsed()) is not False:
                keep(reply)
        received = surplus[:replies]
        del surplus[:replies]
        return received


class Talk:
    """Batches out and replies back, in order; several batches may be on their way at once."""

    def __init__(self, connection: _Batched) -> None:
        self._connection = connection
        self._parser = hiredis.Reader(replyError=Fault)  # type: ignore[arg-type]  # an error is a value, none is raised
        self._surplus: list[Reply] = []

    def send(self, batch: bytes) -> None:
        """Send packed commands, without waiting for anything."""
        self._connection.send(batch)

    async def receive(self, replies: int) -> list[Reply]:
        """The next so many replies, errors among them as `Fault`."""
        return await self._connection.receive(self._parser, self._surplus, replies)

    async def exchange(self, batch: bytes, replies: int) -> list[Reply]:
        """Send, and wait for so many replies."""
        self.send(batch)
        return await self.receive(replies)


class _BatchedTCP(_Batched, Connection):
    pass


class _BatchedTLS(_Batched, SSLConnection):
    pass


class _BatchedUnix(_Batched, UnixDomainSocketConnection):
    async def _connect(self) -> None:
        """As redis-py's, which also logs in here already, where it takes a wrong password for a lost connection."""
        async with asyncio.timeout(self.socket_connect_timeout):
            self._reader, self._writer = await asyncio.open_unix_connection(path=self.path)


class Link:
    """A connection that opens when it is first needed, and again after it was lost.

    Every failure closes it and is raised as a `RedisError`, so that the next use begins anew; `opened` counts that.
    """

    def __init__(self, settings: TargetSettings, address: Address | None = None, *, readonly: bool = False) -> None:
        self._connection = _connection(settings, address)
        self._readonly = readonly
        self.opened = 0
        self.where = str(address) if address else redacted(settings.url)
        self.host = address.host if address else urlsplit(settings.url).hostname or "127.0.0.1"

    @property
    def lost(self) -> bool:
        """Whether the other side has closed the connection; the next use would make a new one to the same address."""
        return self._connection.lost

    @contextlib.asynccontextmanager
    async def talk(self) -> AsyncIterator[Talk]:
        """Open the connection if need be, and talk over it until all replies have come."""
        try:
            with translated(self.where):
                await self._open()
                yield Talk(self._connection)
        except BaseException:  # a cancelled talk too leaves replies on the way, which nobody may read as others'
            await self.close()
            raise

    async def exchange(self, batch: bytes, replies: int) -> list[Reply]:
        """Send a batch of packed commands and return as many `replies`, errors among them as `Fault`."""
        async with self.talk() as talk:
            return await talk.exchange(batch, replies)

    async def close(self) -> None:
        """Close now, without waiting for the other side."""
        await self._connection.disconnect(nowait=True)

    async def _open(self) -> None:
        if self._connection.lost:
            await self.close()
        if not self._connection.is_connected:
            self.opened += 1
            await self._connection.connect()  # type: ignore[no-untyped-call]  # untyped in redis-py
            # For people only: redis-py takes a user who may not set the name for one who may not connect.
            (told,) = await Talk(self._connection).exchange(pack(b"CLIENT", b"SETNAME", b"qobserve"), 1)
            if isinstance(told, Fault) and (told.code == "DENIED" or "max number of clients" in told.message):
                raise (theirs.ResponseError if told.code == "DENIED" else theirs.ConnectionError)(told.message)
            if self._readonly:
                await Talk(self._connection).exchange(pack(b"READONLY"), 1)


@contextlib.contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn what redis-py, asyncio and the operating system raise into the errors of qobserve."""
    try:
        yield
    except (theirs.AuthenticationError, theirs.NoPermissionError) as exc:
        raise RedisRefused(f"{where} refused: {exc}; check the user, the password and the ACL") from exc
    except (theirs.BusyLoadingError, theirs.MasterDownError, theirs.ClusterDownError) as exc:
        raise RedisNotReady(f"{where} cannot serve now: {exc}") from exc
    except (theirs.TimeoutError, TimeoutError) as exc:
        raise RedisTimeout(
            f"{where} did not answer in time; it hangs, is overloaded, a firewall drops packets, "
            "or one side speaks TLS and the other does not"
        ) from exc
    except (theirs.ConnectionError, OSError, ssl.SSLError, asyncio.IncompleteReadError) as exc:
        raise RedisUnreachable(f"{where} is not reachable: {exc}; check address, port and TLS") from exc
    except theirs.ResponseError as exc:
        if str(exc).startswith("BUSY"):
            raise RedisNotReady(f"{where} cannot serve now: {exc}") from exc
        raise RedisRefused(f"{where} refused: {exc}") from exc
    except (theirs.RedisError, hiredis.HiredisError) as exc:
        raise RedisError(f"{where} does not speak as Redis does: {exc}") from exc


class _Shared(TypedDict):
    db: int
    username: str | None
    password: str | None
    socket_connect_timeout: float
    protocol: int
    driver_info: None


def _connection(settings: TargetSettings, address: Address | None) -> _Batched:
    url = urlsplit(settings.url)
    shared: _Shared = {
        "db": url_database(settings.url) if settings.database is None else settings.database,
        "username": settings.user or (unquote(url.username) if url.username else None),
        "password": revealed(settings.password) or (unquote(url.password) if url.password else None),
        "socket_connect_timeout": settings.connect_timeout,
        "protocol": 2,
        "driver_info": None,
    }
    if url.scheme == "unix":
        return _BatchedUnix(path=unquote(url.path), **shared)
    place = address or Address(url.hostname or "127.0.0.1", url.port or 6379)
    if url.scheme != "rediss":
        return _BatchedTCP(host=place.host, port=place.port, **shared)
    files = (settings.tls_ca_cert_file, settings.tls_client_cert_file, settings.tls_client_key_file)
    ca, certificate, key = (None if file is None else str(file) for file in files)
    return _BatchedTLS(
        host=place.host,
        port=place.port,
        ssl_cert_reqs="none" if settings.tls_skip_verification else "required",
        ssl_check_hostname=not settings.tls_skip_verification,
        ssl_ca_certs=ca,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        **shared,
    )


def revealed(secret: SecretStr | None) -> str | None:
    """The text of a secret, for the one call that needs it."""
    return None if secret is None else secret.get_secret_value()
