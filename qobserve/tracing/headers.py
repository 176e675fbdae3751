"""Headers for an OTLP endpoint, from a file or from a variable; no message shows a value, for it may be a key."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from qobserve.config.shown import quoted_name

if TYPE_CHECKING:
    from collections.abc import Iterable

# What gRPC allows in its metadata; HTTP allows some more, which nobody uses.
_NAME = re.compile(r"[a-z0-9_.-]+")
# They describe the request itself: sent twice or wrongly, no endpoint could read it.
_RESERVED = frozenset({"connection", "content-encoding", "content-length", "content-type", "host", "transfer-encoding"})


def headers_from_file(path: Path) -> dict[str, str]:
    """The headers that stand in a file, one `NAME: VALUE` a line; empty lines and those that begin with # are skipped.

    Raises:
        ValueError: The file cannot be read, or a line is no header.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.reason if isinstance(exc, UnicodeDecodeError) else exc.strerror or str(exc)
        raise ValueError(f"cannot read {quoted_name(str(path))} as UTF-8 text: {reason}") from exc
    lines = ((number, line.strip()) for number, line in enumerate(text.split("\n"), start=1))
    pairs = [(f"line {n}", *_split(line, f"line {n}")) for n, line in lines if line and not line.startswith("#")]
    if not pairs:
        raise ValueError(f"{quoted_name(str(path))} holds no header: write one NAME: VALUE a line")
    return _checked(pairs)


def headers_from_variable(text: str) -> dict[str, str]:
    """The headers of `NAME=VALUE,NAME=VALUE`, percent-decoded, as OTEL_EXPORTER_OTLP_HEADERS holds them.

    Raises:
        ValueError: An entry is no header.
    """
    pairs: list[tuple[str, str, str]] = []
    for number, item in enumerate(text.split(","), start=1):
        name, equals, value = item.partition("=")
        if equals:
            pairs.append((f"entry {number}", unquote(name.strip()), unquote(value.strip())))
        elif item.strip():
            raise ValueError(f"entry {number} is no header: write NAME=VALUE, and %2C for a comma in a value")
    return _checked(pairs)


def _split(line: str, where: str) -> tuple[str, str]:
    # `NAME=VALUE` is what the variable takes; whoever moves its content into a file is understood.
    match = re.match(r"([^:=]*)[:=](.*)", line)
    if match is None:
        raise ValueError(f"{where} is no header: write NAME: VALUE")
    return match[1].strip(), match[2].strip()


def _checked(pairs: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for where, written, value in pairs:
        name = written.lower()
        if not _NAME.fullmatch(name):
            raise ValueError(f"{where} has no header's name: letters, digits and _.- make one")
        if name in _RESERVED or name.startswith("grpc-") or name.endswith("-bin"):
            raise ValueError(f'{where}: "{name}" belongs to the request itself and cannot be set')
        if not value or not (value.isascii() and value.isprintable()):
            raise ValueError(f'{where}: the value of "{name}" is empty or holds more than printable ASCII')
        headers[name] = value
    return headers
