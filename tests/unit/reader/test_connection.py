"""What a server says that turns connections away, and closes them with that."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from qobserve.config import TargetSettings
from qobserve.errors import RedisRefused, RedisUnreachable
from qobserve.reader.connection import Link, pack

if TYPE_CHECKING:
    from qobserve.errors import RedisError


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("DENIED Redis is running in protected mode", RedisRefused),
        ("ERR max number of clients reached", RedisUnreachable),
    ],
)
async def test_who_is_turned_away_learns_why(said: str, kind: type[RedisError]) -> None:
    async def turn_away(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"-{said}\r\n".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(turn_away, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        link = Link(TargetSettings(url=f"redis://127.0.0.1:{port}"))
        with pytest.raises(kind, match=said):
            await link.exchange(pack(b"TIME"), 1)
