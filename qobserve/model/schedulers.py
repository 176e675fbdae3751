"""Job schedulers and the repeatable jobs of older versions: when they run next, and whether they still do.

BullMQ leaves a scheduler that has reached its limit or its end date in the set, with the score of a run that never
comes. Source of the facts: docs/bullmq-format.md#schedulers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.keys import text
from qobserve.model.reply import strings, whole
from qobserve.model.scores import milliseconds
from qobserve.model.snapshot import Scheduler

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from qobserve.model.reply import Reply

END_FIELDS = (b"limit", b"ic", b"endDate")
"""The fields of a scheduler's hash that tell its end: iterations allowed and made, and the last moment (ms)."""

PENDING_FIELDS = (b"timestamp", b"processedOn")
"""The fields of a run's own job that tell whether it is still to come."""

_LEGACY_END = -3
"""Where a repeatable job's member, `name:id:endDate:timezone:pattern`, has its end date; the name may hold colons."""

_LEGACY_PARTS = 5


def parse_schedulers(reply: Reply) -> dict[bytes, int]:
    """Members of `repeat` and their next runs (ms), from a reply WITHSCORES; of two that read the same the first."""
    flat = strings(reply)
    named: dict[str, bytes] = {}
    found: dict[bytes, int] = {}
    for name, score in zip(flat[::2], flat[1::2], strict=False):
        next_ms = milliseconds(score)
        if next_ms is not None and named.setdefault(text(name), name) == name:
            found[name] = next_ms
    return found


def going_on(schedulers: Mapping[bytes, int], ended: Collection[bytes], ends: Mapping[bytes, Reply]) -> list[Scheduler]:
    """The schedulers without those that have come to their end; `ends` holds END_FIELDS of those that are late."""
    return [
        Scheduler(id=text(name), next_ms=next_ms, certain=_is_certain(ends.get(name, [])))
        for name, next_ms in schedulers.items()
        if name not in ended
    ]


def has_ended(name: bytes, next_ms: int, end: Reply, job: Reply, now_ms: int) -> bool:
    """Whether no run comes any more: the score may be one past the end, or stay at the last run before it.

    Args:
        name: The scheduler.
        next_ms: Its next run, which is past.
        end: END_FIELDS of its hash.
        job: PENDING_FIELDS of that run's job: one that was made and never started is late, and not the end.
        now_ms: The server's clock.
    """
    match job:
        case [bytes(), None]:
            return False
    limit, made, _ = _end(end)
    last_ms = end_ms(name, end)
    return (limit is not None and made is not None and made >= limit) or (
        last_ms is not None and max(next_ms, now_ms) > last_ms
    )


def end_ms(name: bytes, end: Reply) -> int | None:
    """The moment after which a scheduler runs no more; None where there is none, or it is not known."""
    last_ms = _end(end)[2]
    if last_ms is None and not _is_certain(end):
        parts = name.split(b":")
        last_ms = whole(parts[_LEGACY_END]) if len(parts) >= _LEGACY_PARTS else None
    return last_ms


def _is_certain(end: Reply) -> bool:
    """Whether the scheduler is of the kind whose hash tells its end; a repeatable job's limit is told nowhere."""
    return end == [] or _end(end)[1] is not None


def _end(end: Reply) -> tuple[int | None, int | None, int | None]:
    if isinstance(end, list) and len(end) == len(END_FIELDS):
        limit, made, last_ms = map(whole, end)
        return limit, made, last_ms
    return None, None, None
