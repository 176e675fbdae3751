"""W3C trace context in a job's options: what a producer put there, and how to put it there.

BullMQ keeps in `opts` under `tm` what the producer's propagator wrote, as a JSON text; docs/tracing.md#context.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from qobserve.model.trace_context import (
    TraceParent,
    carrier,
    format_traceparent,
    format_tracestate,
    parse_traceparent,
    parse_tracestate,
    trace_of,
)

__all__ = [
    "TraceParent",
    "carrier_of",
    "format_traceparent",
    "format_tracestate",
    "parse_traceparent",
    "parse_tracestate",
    "trace_of",
    "with_carrier",
]

_FIELD = "tm"
_OMITTED = "omc"
_LARGEST_OPTS = 65_536


def carrier_of(opts: str | bytes | Mapping[str, object] | None) -> dict[str, str] | None:
    """The headers that a producer's propagator wrote into a job's options, for a propagator to extract from.

    Args:
        opts: The hash's field `opts`, or the options as an object.

    Returns:
        None where there are none, and where what is there cannot be read: this never fails.
    """
    found = opts if isinstance(opts, Mapping) else _parsed(opts)
    return None if found is None or found.get(_OMITTED) is True else carrier(found.get(_FIELD))


def with_carrier(opts: Mapping[str, object], headers: Mapping[str, str]) -> dict[str, object]:
    """A copy of a job's options that holds `headers`, in BullMQ's form.

    Nothing is put where there are no headers, or where the producer asked for its context to be omitted (`omc`).
    """
    if not headers or opts.get(_OMITTED) is True:
        return dict(opts)
    return {**opts, _FIELD: json.dumps(dict(headers), separators=(",", ":"))}


def _parsed(opts: str | bytes | None) -> Mapping[str, object] | None:
    if opts is None or len(opts) > _LARGEST_OPTS:
        return None
    try:
        found = json.loads(opts)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
