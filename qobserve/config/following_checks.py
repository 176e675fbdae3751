"""What does not go together in the settings of what follows the events."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from qobserve.config.kinds import show_duration
from qobserve.config.tls_files import tls_file_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.config.resolve import Resolved

_BUCKETS = ("metrics.wait-buckets", "metrics.processing-buckets")
_MOST_BUCKETS = 100
_NEED_EVENTS = ("follow.checkpoint-file", "tracing.otlp-endpoint")


def following_problems(resolved: Resolved) -> Iterator[str]:
    """The mistakes in `follow`, `metrics` and `tracing` that need more than one value."""
    for name in _BUCKETS:
        yield from _buckets(resolved, name)
    if not resolved.get("follow.enabled"):
        for value in resolved.given(*_NEED_EVENTS):
            off = resolved.values["follow.enabled"].source
            yield f"{value.source}: it is of use only while events are followed, but {off} turns that off"
    parts = (f"tracing.otlp-{part}-file" for part in ("ca", "client-cert", "client-key"))
    yield from tls_file_problems(resolved, *parts)


def _buckets(resolved: Resolved, name: str) -> Iterator[str]:
    value = resolved.values.get(name)
    if value is None or not isinstance(value.value, tuple):
        return
    if not 1 <= len(value.value) <= _MOST_BUCKETS:
        yield f"{value.source}: from 1 to {_MOST_BUCKETS} bounds are expected, not {len(value.value)}"
    for lower, upper in pairwise(value.value):
        if not lower < upper:
            yield f"{value.source}: the bounds must rise, but {show_duration(upper)} follows {show_duration(lower)}"
