"""The trace context of a job's producer: W3C `traceparent` and `tracestate`, as BullMQ keeps them in `opts.tm`.

Source of the facts: docs/tracing.md#context; the grammar is that of W3C Trace Context, level 2. What is written there
by strangers is believed only where it is well formed, to the letter.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

LARGEST_CARRIER = 16_384
"""Characters of `tm` that are read: W3C allows 8,192 bytes of baggage beside the context, and JSON escapes."""

_SAMPLED = 0x01
_KNOWN_FLAGS = 0x03  # sampled, and random trace id
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII | re.DOTALL)
_LONGEST_TRACEPARENT = 512
_MEMBER = re.compile(
    r"([a-z0-9][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})"
    r"=([\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e])",
    re.ASCII,
)
_MOST_MEMBERS = 32
_LONGEST_TRACESTATE = 512
_LONG_MEMBER = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceParent:
    """A span somewhere, by its two ids (never 0), and whether its trace is recorded at all."""

    trace_id: int
    span_id: int
    sampled: bool


def parse_traceparent(raw: str) -> TraceParent | None:
    """Read a `traceparent`; None where W3C forbids it. Of versions to come the four fields of today are read."""
    match = _TRACEPARENT.fullmatch(raw) if len(raw) <= _LONGEST_TRACEPARENT else None
    if match is None:
        return None
    version, trace, span, flags, more = match.groups()
    trace_id, span_id = int(trace, 16), int(span, 16)
    if version == "ff" or (version == "00" and more) or not trace_id or not span_id:
        return None
    return TraceParent(trace_id=trace_id, span_id=span_id, sampled=bool(int(flags, 16) & _SAMPLED))


def format_traceparent(parent: TraceParent) -> str:
    """Write a `traceparent` of version 00."""
    return f"00-{parent.trace_id:032x}-{parent.span_id:016x}-{int(parent.sampled):02x}"


def parse_tracestate(raw: str) -> tuple[tuple[str, str], ...]:
    """Read a `tracestate` as pairs in its order; none of them where one is malformed, as W3C says.

    Beyond 512 characters long members go first, and then the last ones.
    """
    members = [member for part in raw.split(",", LARGEST_CARRIER) if (member := part.strip(" \t"))]
    matches = [_MEMBER.fullmatch(member) for member in members[: _MOST_MEMBERS + 1]]
    pairs = [(match[1], match[2]) for match in matches if match is not None]
    if len(pairs) != len(members) or len(pairs) > _MOST_MEMBERS or len({key for key, _ in pairs}) != len(pairs):
        return ()
    return _shortened(pairs)


def format_tracestate(pairs: tuple[tuple[str, str], ...]) -> str:
    """Write a `tracestate`."""
    return ",".join(f"{key}={value}" for key, value in pairs)


def carrier(tm: object) -> dict[str, str] | None:
    """The headers that a propagator wrote into `tm`; None where it is no JSON object that holds any, or too large."""
    if not isinstance(tm, str) or len(tm) > LARGEST_CARRIER:
        return None
    try:
        headers = json.loads(tm)
    except (ValueError, RecursionError):
        return None
    if not isinstance(headers, dict):
        return None
    return {key: value for key, value in headers.items() if isinstance(value, str)} or None


def trace_of(tm: object) -> tuple[str, str | None] | None:
    """The `traceparent` and `tracestate` in `opts.tm`; None where there is no valid `traceparent`.

    A malformed `tracestate` is dropped alone.
    """
    headers = carrier(tm) or {}
    traceparent = headers.get("traceparent", "")
    if parse_traceparent(traceparent) is None:
        return None
    return traceparent, format_tracestate(parse_tracestate(headers.get("tracestate", ""))) or None


def _shortened(pairs: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    kept = list(pairs)
    for position in range(len(pairs) - 1, -1, -1):
        if len(format_tracestate(tuple(kept))) <= _LONGEST_TRACESTATE:
            break
        key, value = pairs[position]
        if len(key) + len(value) + 1 > _LONG_MEMBER:
            del kept[position]
    while len(format_tracestate(tuple(kept))) > _LONGEST_TRACESTATE:
        kept.pop()
    return tuple(kept)
