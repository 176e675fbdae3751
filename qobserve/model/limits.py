"""What holds a queue back by design: the global concurrency, and the rate limit.

Source of the facts: docs/bullmq-format.md#limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.reply import Fault, whole

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

_BY_HAND = 2**53 - 1
"""What `queue.rateLimit(ms)` sets the counter to: beyond any maximum. Workers that have none take no notice."""


def concurrency_limit(field: Reply) -> int | None:
    """The global concurrency of `meta`, or None for no limit; a negative one lets no job run, as 0 does."""
    limit = whole(field)
    return None if limit is None else max(limit, 0)


def rate_limited_ms(counter: Reply, ttl: Reply, maximum: Reply, *, held_back: bool, busy: bool) -> int | None:
    """For how many ms no worker will take a job; 0 when not limited, None when it cannot be told.

    The counter of the window is in Redis, but the maximum only if it is a global one (`maximum`, of `meta`). A worker's
    own maximum is not; then the window limits if nothing else explains that workers leave ready jobs alone.

    Args:
        counter: The reply to GET of `limiter`, how many jobs were taken in this window.
        ttl: The reply to PTTL of it, how long the window lasts yet.
        maximum: The field `max` of `meta`.
        held_back: Whether jobs have been ready for a while, and workers are there, and take none of them.
        busy: Whether jobs are being processed, so that workers may be of the kind that takes no notice.
    """
    if isinstance(counter, Fault) or isinstance(ttl, Fault):
        return None
    used, left = whole(counter), whole(ttl)
    if used is None or left is None or left <= 0:
        return 0
    allowed = whole(maximum)
    if allowed is not None:
        return left if used >= min(allowed, _BY_HAND) else 0
    return left if held_back or (used >= _BY_HAND and not busy) else None
