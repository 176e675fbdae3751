"""What a setting's text may be: each kind turns one text into its value or says what is allowed."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qobserve.config.redis_url import redis_url
from qobserve.config.shown import quoted, quoted_address, quoted_name, redacted

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_PORT = 65535
_MAX_SECONDS = 366 * 86400.0
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NUMBER = r"[0-9]+(?:\.[0-9]+)?"
_DURATION = re.compile(rf"(?:{_NUMBER}(?:ms|s|m|h|d))+")
_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")
_RESERVED_PATHS = ("/", "/scrape", "/discover")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of setting: `parse` raises ValueError with a sentence; `metavar` stands for the value in help texts.

    `many` takes several texts, with `commas` also in one, and a tuple is the value; `path` is relative to its file.
    """

    metavar: str
    parse: Callable[[str], object]
    many: bool = False
    commas: bool = False
    flag: bool = False
    path: bool = False
    show: Callable[[object], str] = str


def boolean(text: str) -> bool:
    """True or false in one of the usual spellings."""
    word = text.strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError(f"{quoted(text)} is neither true nor false: write true, false, 1, 0, yes, no, on or off")


def duration(text: str) -> float:
    """Seconds, zero or more."""
    compact = text.strip()
    if re.fullmatch(_NUMBER, compact):
        seconds = float(compact)
    elif _DURATION.fullmatch(compact):
        seconds = sum(float(n) * _UNITS[unit] for n, unit in re.findall(rf"({_NUMBER})(ms|s|m|h|d)", compact))
    elif compact.startswith("-"):
        raise ValueError(f"{quoted(text)} is negative: a duration is zero or more")
    else:
        raise ValueError(f"{quoted(text)} is not a duration: write 10s, 500ms, 2m, 1h or a number of seconds")
    if seconds > _MAX_SECONDS:
        raise ValueError(f"{quoted(text)} is longer than a year")
    return seconds


def positive_duration(text: str) -> float:
    """Seconds, more than zero."""
    negative = re.fullmatch(rf"-{_NUMBER}(?:ms|s|m|h|d)?", text.strip())
    seconds = 0.0 if negative else duration(text)
    if seconds == 0:
        raise ValueError(f"{quoted(text)} is too short: it must be more than zero")
    return seconds


def show_duration(value: object) -> str:
    """Seconds as a person writes them."""
    if not isinstance(value, float):
        return str(value)
    return f"{value * 1000:g}ms" if 0 < value < 1 else f"{value:g}s"


def integer(low: int, high: int) -> Callable[[str], int]:
    """The parser for a whole number within bounds."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]{1,18}", text.strip()) or not low <= int(text) <= high:
            raise ValueError(f"{quoted(text)} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def choice(*allowed: str) -> Callable[[str], str]:
    """The parser for one of a few words."""

    def parse(text: str) -> str:
        word = text.strip().lower()
        if word not in allowed:
            raise ValueError(f"{quoted(text)} is not one of {', '.join(allowed)}")
        return word

    return parse


def ratio(text: str) -> float:
    """A share between 0 and 1, also written in per cent."""
    match = re.fullmatch(rf"({_NUMBER})(%?)", text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else 0.0
    if not 0 < value < 1:
        raise ValueError(f"{quoted(text)} is not a share between 0 and 1: write 0.995 or 99.5%")
    # 99.5 / 100 is 0.995 plus a rounding error that would show in the metrics.
    return round(value, 12)


def word(text: str) -> str:
    """Any text that is not empty."""
    if not text:
        raise ValueError("it is empty")
    return text


def readable_file(text: str) -> Path:
    """The path of a file that exists and can be read."""
    path = Path(text)
    try:
        with path.open("rb") as file:
            file.read(1)
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise ValueError(f"cannot read {quoted_name(text)}: {reason}") from exc
    return path


def queue(text: str) -> str:
    """A queue as `prefix:name`; a bare name has the prefix `bull`. A prefix may hold colons, a name may not."""
    prefix, colon, name = text.rpartition(":")
    if not name or (colon and not prefix):
        raise ValueError(f"{quoted(text)} is not a queue: write NAME or PREFIX:NAME")
    return f"{prefix or 'bull'}:{name}"


def split_address(text: str) -> tuple[str, int]:
    """Host and port of `:PORT`, `HOST:PORT` or `[V6]:PORT`; no host means every interface."""
    match = re.fullmatch(r"(?:\[(?P<v6>[^\]]+)\]|(?P<host>[^:\[\]/@\s]*)):(?P<port>[0-9]{1,5})", text)
    if not match or int(match["port"]) > _MAX_PORT:
        raise ValueError(
            f"{quoted_address(text)} is not an address: write :PORT, HOST:PORT or [IPv6]:PORT, with a port up to 65535"
        )
    if match["v6"]:
        try:
            ipaddress.IPv6Address(match["v6"])
        except ValueError as exc:
            raise ValueError(f"{quoted_address(text)} has no IPv6 address between its brackets") from exc
    return match["v6"] or match["host"], int(match["port"])


def listen_address(text: str) -> str:
    """An address to listen on; port 0 takes a free one."""
    split_address(text)
    return text


def sentinel_address(text: str) -> str:
    """The address of a Sentinel as `host:port`; without a port it is Sentinel's own, 26379."""
    has_port = re.search(r":[0-9]+$", text) and (text.count(":") == 1 or "]:" in text)
    address = text if has_port else f"{text}:26379"
    try:
        host, port = split_address(address)
    except ValueError as exc:
        raise ValueError(f"{quoted_address(text)} is not an address: write HOST:PORT or [IPv6]:PORT") from exc
    if not host or port == 0:
        raise ValueError(f"{quoted_address(text)} is not an address: write HOST:PORT or [IPv6]:PORT")
    return address


def telemetry_path(text: str) -> str:
    """A path of the HTTP server that is not taken by another page."""
    if not re.fullmatch(r"(/[A-Za-z0-9_.~-]+)+", text):
        raise ValueError(f'{quoted(text)} is not a path: write one that begins with "/", of letters, digits and _.~-')
    if text in _RESERVED_PATHS or text.startswith("/-/"):
        raise ValueError(f"{quoted(text)} is taken by another page: write another path such as /metrics")
    return text


def one_of(*allowed: str) -> Kind:
    """The kind of a setting that takes one of a few words."""
    return Kind(metavar="|".join(allowed), parse=choice(*allowed))


def within(low: int, high: int) -> Kind:
    """The kind of a setting that takes a whole number within bounds."""
    return Kind(metavar="N", parse=integer(low, high))


URL = Kind(metavar="URL", parse=redis_url, show=lambda value: redacted(str(value)))
BOOLEAN = Kind(metavar="BOOL", parse=boolean, flag=True, show=lambda value: str(value).lower())
DURATION = Kind(metavar="DURATION", parse=duration, show=show_duration)
POSITIVE_DURATION = Kind(metavar="DURATION", parse=positive_duration, show=show_duration)
RATIO = Kind(metavar="RATIO", parse=ratio)
WORD = Kind(metavar="TEXT", parse=word)
FILE = Kind(metavar="FILE", parse=readable_file, path=True)
GLOBS = Kind(metavar="GLOB", parse=word, many=True)
PREFIXES = Kind(metavar="PREFIX", parse=word, many=True)
QUEUES = Kind(metavar="[PREFIX:]NAME", parse=queue, many=True)
LISTEN_ADDRESS = Kind(metavar="ADDRESS", parse=listen_address)
LISTEN_ADDRESSES = Kind(metavar="ADDRESS", parse=listen_address, many=True)
SENTINELS = Kind(metavar="HOST:PORT", parse=sentinel_address, many=True)
TELEMETRY_PATH = Kind(metavar="PATH", parse=telemetry_path)
