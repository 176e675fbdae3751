"""Priority levels of a set that is longer than the window: which there are, and the first job of each.

The set is scored by priority first, so its head is the most urgent job and not the oldest; the oldest is the oldest of
the levels' first jobs. A probe finds the first job of the next level after a known one, so that the known levels and
every gap between them are covered by one probe each, in the first round trip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.reader.budget import MOST_LEVELS
from qobserve.reader.candidates import leveled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qobserve.model.reading import Answers
    from qobserve.model.reply import Reply


def is_deep(answers: Answers) -> bool:
    """Whether the window does not show the whole set."""
    length, window = answers.prioritized_length, answers.prioritized_first
    return isinstance(length, int) and isinstance(window, list) and 0 < len(window) < 2 * length


def window_levels(answers: Answers) -> set[int]:
    """The levels that the window shows."""
    return {priority for _, priority in leveled(answers.prioritized_first)}


def probed(replies: Iterable[Reply]) -> dict[int, bytes]:
    """First jobs by level, from the replies to probes."""
    return {priority: job for reply in replies for job, priority in leveled(reply)}


def to_follow(levels: Iterable[int]) -> tuple[int, ...]:
    """The levels to probe after, most urgent first, at most `MOST_LEVELS`."""
    return tuple(sorted(set(levels)))[:MOST_LEVELS]
