"""Priority levels of a set that is longer than the window: which there are, and the first job of each.

The set is scored by priority first, so its head is the most urgent job and not the oldest; the oldest is the oldest of
the levels' first jobs. In the first round trip each known level is asked for its first job. Levels that nobody knows
yet are searched for in the second one where the set has changed: behind each known level, and at places spread evenly
over the set. What that finds is asked about in the next scrape: such a level is younger than the others anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.reading import Answers
from qobserve.reader.budget import MOST_LEVELS
from qobserve.reader.candidates import leveled
from qobserve.reader.connection import pack
from qobserve.reader.questions import level_probe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply


_PLACES = 16


def is_deep(answers: Answers) -> bool:
    """Whether the window does not show the whole set."""
    length, window = answers.prioritized_length, answers.prioritized_first
    return isinstance(length, int) and isinstance(window, list) and 0 < len(window) < 2 * length


def levels_stirred(now: Sequence[Reply], before: Sequence[Reply]) -> bool:
    """Whether the set has changed, by first answers and probes of two looks."""
    count = len(Answers._fields)
    here, there = Answers._make(now[:count]), Answers._make(before[:count])
    return (
        here.prioritized_length != there.prioritized_length
        or here.prioritized_first != there.prioritized_first
        or now[count:] != before[count:]
    )


def window_levels(answers: Answers) -> set[int]:
    """The levels that the window shows."""
    return {priority for _, priority in leveled(answers.prioritized_first)}


def probed(replies: Iterable[Reply]) -> dict[int, bytes]:
    """First jobs by level, from the replies to probes."""
    return {priority: job for reply in replies for job, priority in leveled(reply)}


def to_follow(levels: Iterable[int]) -> tuple[int, ...]:
    """The levels to ask about, most urgent first, at most `MOST_LEVELS`."""
    return tuple(sorted(set(levels)))[:MOST_LEVELS]


def head_probes(queue: QueueId, levels: Iterable[int]) -> list[bytes]:
    """Ask each level for its first job; one that is empty by now answers with the next one's."""
    return [level_probe(queue, level - 1) for level in levels]


def search_commands(queue: QueueId, levels: Iterable[int], length: int) -> list[bytes]:
    """Look for levels that are not known: behind each known one, and at some places of the set."""
    places = sorted({length * part // _PLACES for part in range(1, _PLACES)} | {length - 1})
    key = queue.key(b"prioritized")
    return [
        *(level_probe(queue, level) for level in levels),
        *(pack(b"ZRANGE", key, b"%d" % place, b"%d" % place, b"WITHSCORES") for place in places),
    ]
