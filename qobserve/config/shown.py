"""How messages show what a person wrote: on one line, short, and without anything that may be a password."""

from __future__ import annotations

import ipaddress
import json
import re

_SHOWN = 120
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PORT = re.compile(r"(?:[0-9]{1,5}(?![^/?#])|$)")
_QUERY_SECRET = re.compile(r"(?P<name>[?&][A-Za-z_-]*pass[A-Za-z_-]*=)[^&]*", re.IGNORECASE)


def redacted(text: str) -> str:
    """The text with `***` for whatever stands before its last @, and in a URL for a port that is no number.

    Of `scheme://user:password@` the user stays.
    """
    scheme = _scheme(text)
    head, at, tail = text[len(scheme) :].rpartition("@")
    user, colon, _ = head.partition(":")
    known = scheme and colon and not re.search(r"[/@]", user)
    login = f"{user}:***@" if known else "***@" if at else ""
    has_port = scheme and scheme.lower() != "unix://"
    return _QUERY_SECRET.sub(r"\g<name>***", f"{scheme}{login}{_without_bad_port(tail) if has_port else tail}")


def redacted_address(text: str) -> str:
    """As `redacted`, for a text that should be an address: also without a scheme, a port that is no number is `***`."""
    shown = redacted(text)
    return shown if _scheme(shown) else shown[: shown.rfind("@") + 1] + _without_bad_port(shown.rpartition("@")[2])


def quoted(text: str) -> str:
    """A text as a message may show it, in quotes."""
    return _line(redacted(text))


def quoted_address(text: str) -> str:
    """A text that should be an address or a URL, in quotes."""
    return _line(redacted_address(text))


def quoted_name(text: str) -> str:
    """A name, path or pattern, in quotes: an @ in it hides nothing unless a URL was given in its place."""
    return _line(redacted(text) if "://" in text else text)


def has_password(url: str) -> bool:
    """Whether a password stands in this URL."""
    login, at, _ = url[len(_scheme(url)) :].rpartition("@")
    return bool((at and ":" in login) or _QUERY_SECRET.search(url))


def _scheme(text: str) -> str:
    match = _SCHEME.match(text)
    return match[0] if match else ""


def _without_bad_port(text: str) -> str:
    host, colon, port = _host_and_rest(text)
    return text if not colon or _PORT.match(port) or _is_ipv6(text) else f"{host}:***"


def _host_and_rest(text: str) -> tuple[str, str, str]:
    match = re.match(r"(\[[^\]]*\]|[^:]*)(:?)(.*)", text, re.DOTALL)
    host, colon, rest = match.groups() if match else (text, "", "")
    # A colon behind the first slash is part of a path.
    return (text, "", "") if re.search(r"[/?#]", host) and not host.startswith("/") else (host, colon, rest)


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _line(text: str) -> str:
    return json.dumps(text if len(text) <= _SHOWN else text[:_SHOWN] + "...", ensure_ascii=False)
