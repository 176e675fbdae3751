"""Redis URLs: what is allowed in one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from qobserve.config.shown import quoted, quoted_address

if TYPE_CHECKING:
    from urllib.parse import SplitResult

SCHEMES = ("redis", "rediss", "unix")
_SEVERAL = "names several hosts: name one; Sentinels are given as redis.sentinel, of a cluster one node is enough"
_EXAMPLES = "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH?db=DB"


def scheme(url: str) -> str:
    """The scheme of a URL that was checked, in lower case."""
    return url.partition("://")[0].lower()


def url_database(url: str) -> int:
    """The database index that a checked URL names, 0 when it names none."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query)).get("db")
    path = parts.path.strip("/") if parts.scheme != "unix" else ""
    return int(query or path or 0)


def redis_url(text: str) -> str:
    """The URL when it can name a Redis.

    Raises:
        ValueError: it cannot; the sentence says why and never holds a password.
    """
    shown = quoted_address(text)
    if "://" not in text:
        raise ValueError(f"{shown} has no scheme: {_EXAMPLES}")
    if scheme(text) not in SCHEMES:
        named = f'"{scheme(text)}"' if re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme(text)) else f"what {shown} begins with"
        raise ValueError(f"{named} is not a scheme that is supported: {_EXAMPLES}")
    # Before the URL is taken apart: that would cut it at a "#" and drop line breaks without a word.
    if re.search(r"[#\s\x00-\x1f]", text):
        raise ValueError(f'{shown} has a "#" or a space in it: write %23 and %20 in a user name or a password')
    parts = _parts(text, shown)
    if parts.scheme == "unix" and not parts.path:
        raise ValueError(f"{shown} names no socket: write unix:///PATH")
    _check_query(shown, parts.query)
    _check_database(shown, parts)
    return text


def _parts(text: str, shown: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as exc:
        if "," in text.rpartition("@")[2]:
            raise ValueError(f"{shown} {_SEVERAL}") from exc
        raise ValueError(f"{shown} has a bad host or port: the port is a number from 1 to 65535") from exc
    if parts.scheme != "unix" and "," in (parts.hostname or ""):
        raise ValueError(f"{shown} {_SEVERAL}")
    if port == 0:
        raise ValueError(f"{shown} has a bad port: the port is a number from 1 to 65535")
    return parts


def _check_query(shown: str, query: str) -> None:
    if "@" in query:
        raise ValueError(f'{shown} has a "?" before its "@": write %3F in a user name or a password')
    for name, _ in parse_qsl(query, keep_blank_values=True):
        if name != "db":
            raise ValueError(
                f'{shown} has the parameter {quoted(name)}: only "db" is read, the rest are settings of their own'
            )


def _check_database(shown: str, parts: SplitResult) -> None:
    path = "" if parts.scheme == "unix" else parts.path.strip("/")
    texts = [text for text in (path, *(value for _, value in parse_qsl(parts.query))) if text]
    if not all(re.fullmatch(r"[0-9]{1,9}", text) for text in texts):
        raise ValueError(f"{shown} has a bad database index: it is a number such as 0")
    if len({int(text) for text in texts}) > 1:
        raise ValueError(f"{shown} names more than one database: keep one of them")
