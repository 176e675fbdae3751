"""OTLP endpoints as people write them, turned into what a request is sent to; pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from qobserve.config.shown import quoted_address

if TYPE_CHECKING:
    from urllib.parse import SplitResult

TRACES_PATH = "/v1/traces"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def base_url(text: str) -> str:
    """The URL of the traces below a base endpoint, as the OTLP specification builds it."""
    parts = _http_parts(text)
    return parts._replace(path=parts.path.rstrip("/") + TRACES_PATH).geturl()


def base_or_traces_url(text: str) -> str:
    """The same for a person who may have written the whole URL of the traces."""
    parts = _http_parts(text)
    return text if parts.path.rstrip("/").endswith(TRACES_PATH) else base_url(text)


def exact_url(text: str) -> str:
    """The URL as it is; only an empty path becomes `/`."""
    parts = _http_parts(text)
    return parts._replace(path=parts.path or "/").geturl()


def is_encrypted(url: str) -> bool:
    """Whether TLS is spoken to this URL."""
    return url.lower().startswith("https:")


def grpc_address(text: str, *, insecure: bool) -> tuple[str, bool]:
    """`HOST:PORT` and whether TLS is spoken there: by the scheme, or without one by `insecure`.

    Raises:
        ValueError: It is no such endpoint.
    """
    has_scheme = bool(_SCHEME.match(text))
    parts = _parts(text if has_scheme else f"//{text}")
    if has_scheme and parts.scheme not in _DEFAULT_PORTS:
        raise ValueError(f"{quoted_address(text)} is no endpoint for gRPC: write http://HOST:PORT or https://HOST:PORT")
    if parts.path not in {"", "/"} or parts.query or parts.username is not None:
        raise ValueError(
            f"{quoted_address(text)} has more than a host and a port, which is all that gRPC takes: "
            "write http://HOST:PORT or https://HOST:PORT, or choose the protocol http/protobuf"
        )
    if not has_scheme and parts.port is None:
        raise ValueError(f"{quoted_address(text)} has no port: write HOST:PORT")
    port = "" if parts.port is not None else f":{_DEFAULT_PORTS[parts.scheme]}"
    return parts.netloc.rstrip(":") + port, parts.scheme == "https" if has_scheme else not insecure


def _http_parts(text: str) -> SplitResult:
    if not _SCHEME.match(text):
        raise ValueError(f"{quoted_address(text)} has no scheme: write http://HOST:PORT or https://HOST:PORT")
    parts = _parts(text)
    if parts.scheme not in _DEFAULT_PORTS:
        raise ValueError(f"{quoted_address(text)} is no URL for HTTP: write http://HOST:PORT or https://HOST:PORT")
    if parts.fragment:
        raise ValueError(f'{quoted_address(text)} has a "#": write the URL without it')
    return parts


def _parts(text: str) -> SplitResult:
    wrong = f"{quoted_address(text.removeprefix('//'))} is not an endpoint: write http://HOST:PORT or https://HOST:PORT"
    # urlsplit strips some of these silently, and what is left would be another URL than the one that was written.
    if not text.isprintable() or " " in text:
        raise ValueError(wrong)
    try:
        parts = urlsplit(text)
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError as exc:
        raise ValueError(wrong) from exc
    if not usable:
        raise ValueError(wrong)
    return parts
