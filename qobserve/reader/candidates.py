"""Which jobs could be the oldest of a queue: picked from the windows, before any hash is read.

`wait` is served from its tail, and most jobs enter at its head, so that the tail is the oldest. Some enter at the tail
(LIFO, stalled and rate-limited jobs, released parents), and what is promoted late enters at the head. So beside the
tail we look at the head, at the lowest id and at the rest of the window. Bounds: docs/age.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.reply import strings
from qobserve.model.scores import level
from qobserve.model.states import MARKER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qobserve.model.reading import Answers
    from qobserve.model.reply import Reply
    from qobserve.reader.budget import Budget

_LONGEST_COUNTER = 19
"""Digits of the largest number that Redis counts to; a longer id was made by hand and says nothing of order."""


def waiting_candidates(answers: Answers, budget: Budget) -> list[bytes]:
    """Jobs of `wait` and of the legacy `paused` list, the likeliest first, at most `budget.hashes` of each list."""
    return [
        *_ends_first(answers.wait_length, answers.wait_tail, answers.wait_head, budget.hashes),
        *_ends_first(None, answers.paused_tail, None, budget.hashes),
    ]


def _ends_first(length: Reply, tail: Reply, head: Reply, most: int) -> list[bytes]:
    """The tail of a list, its head, the lowest id and the far end of the window; then the rest from the tail on."""
    window = [job for job in reversed(strings(tail)) if not job.startswith(MARKER)]
    if not window:
        return []
    likely = [window[0]]
    if isinstance(head, bytes) and not head.startswith(MARKER) and isinstance(length, int) and length > len(window):
        likely.append(head)
    numbered = [job for job in window if job.isdigit() and len(job) <= _LONGEST_COUNTER]
    if numbered:
        likely.append(min(numbered, key=int))
    return list(dict.fromkeys([*likely, window[-1], *window]))[:most]


def prioritized_candidates(answers: Answers, heads: Iterable[bytes], budget: Budget) -> list[bytes]:
    """The first job of each level, then the others of the window; at most `budget.hashes`, but all of `heads`."""
    window = leveled(answers.prioritized_first)
    first = {priority: job for job, priority in reversed(window)}
    likely = list(dict.fromkeys([*first.values(), *heads]))
    return list(dict.fromkeys([*likely, *(job for job, _ in window)]))[: max(budget.hashes, len(likely))]


def leveled(reply: Reply) -> list[tuple[bytes, int]]:
    """Members and priorities of a reply WITHSCORES on `prioritized`."""
    flat = strings(reply)
    pairs = ((job, level(score)) for job, score in zip(flat[::2], flat[1::2], strict=False))
    return [(job, priority) for job, priority in pairs if priority is not None]


def active_candidates(answers: Answers, budget: Budget) -> list[bytes]:
    """The jobs that started first: `active` grows at its head."""
    started = [job for job in reversed(strings(answers.active_tail)) if not job.startswith(MARKER)]
    return started[: budget.active]
