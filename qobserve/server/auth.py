"""Basic authentication and response headers in front of every page."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

import bcrypt
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from qobserve.server.live import LiveWebConfig

# bcrypt looks at this many bytes of a password; the library refuses longer ones, the tools that make hashes cut them.
_BCRYPT_BYTES = 72


class PasswordCheck:
    """Tells whether a name and password are those of a user, without telling by its time whether the user exists.

    A password that was right once is remembered as a keyed digest, because bcrypt is slow by design.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._verified: dict[str, bytes] = {}
        self._one_at_a_time = asyncio.Lock()

    async def allows(self, users: Mapping[str, bytes], name: str, password: bytes) -> bool:
        """Whether `users` (name to bcrypt hash) has this name with this password."""
        hashed = users.get(name)
        digest = self._digest(hashed or b"", password)
        if hashed is not None and hmac.compare_digest(digest, self._verified.get(name, b"")):
            return True
        # For an unknown name one of the real hashes is checked in vain: it costs as long as a wrong password does.
        against = self._decoy(users, name) if hashed is None else hashed
        async with self._one_at_a_time:
            right = await asyncio.to_thread(_matches, password, against)
        if hashed is None or not right:
            return False
        self._verified = {user: seen for user, seen in self._verified.items() if user in users} | {name: digest}
        return True

    def _digest(self, hashed: bytes, password: bytes) -> bytes:
        return hmac.digest(self._key, hashed + b"\0" + password, hashlib.sha256)

    def _decoy(self, users: Mapping[str, bytes], name: str) -> bytes:
        digest = self._digest(b"", name.encode("utf-8", "surrogatepass"))
        return list(users.values())[int.from_bytes(digest[:8]) % len(users)]


def credentials(header: str) -> tuple[str, bytes] | None:
    """Name and password of an Authorization header; None when it is no basic authentication."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (name.decode(), password) if colon else None
    except (binascii.Error, ValueError):
        return None


class Gate:
    """Lets requests through to the pages as the web configuration says, and sets its headers on every answer."""

    def __init__(self, app: ASGIApp, live: LiveWebConfig) -> None:
        self._app = app
        self._live = live
        self._check = PasswordCheck()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        config = self._live.current()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("X-Content-Type-Options", "nosniff")
                for name, value in config.headers:
                    headers[name] = value
            await send(message)

        if config.users and not await self._allowed(config.users, scope):
            refusal = PlainTextResponse("Unauthorized\n", 401, {"WWW-Authenticate": "Basic"})
            await refusal(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    async def _allowed(self, users: Mapping[str, bytes], scope: Scope) -> bool:
        given = credentials(Headers(scope=scope).get("authorization", ""))
        return given is not None and await self._check.allows(users, *given)


def _matches(password: bytes, hashed: bytes) -> bool:
    try:
        return bcrypt.checkpw(password[:_BCRYPT_BYTES], hashed)
    except ValueError:
        return False
