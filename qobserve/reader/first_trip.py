"""The first round trip: what each queue answered, and the levels of priority sets that are seen for the first time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qobserve.model.reading import Answers
from qobserve.model.reply import Fault
from qobserve.reader.budget import MOST_LEVELS
from qobserve.reader.levels import is_deep, probed, window_levels
from qobserve.reader.questions import QUESTIONS, level_probe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply
    from qobserve.reader.connection import Talk
    from qobserve.reader.last_time import LastTime
    from qobserve.reader.memory import QueueMemory


@dataclass(slots=True)
class FirstLook:
    """A queue after the first round trip; its replies stay as they came where they are the same as last time.

    Attributes:
        raw: Replies to all questions, then to the probes for the levels known from before.
        unchanged: Whether they are the same as last time.
        further: Replies to probes for levels that were not known.
    """

    queue: QueueId
    memory: QueueMemory
    raw: Sequence[Reply]
    unchanged: bool
    further: list[Reply] = field(default_factory=list)

    @property
    def answers(self) -> Answers:
        """The replies to the questions, by name."""
        return Answers._make(self.raw[: len(QUESTIONS)])

    @property
    def heads(self) -> dict[int, bytes]:
        """First jobs of the levels beyond the window, by level."""
        return probed(self._probes())

    @property
    def refused(self) -> Fault | None:
        """What was said in place of the first job of a level, if that was refused."""
        return next((reply for reply in self._probes() if isinstance(reply, Fault)), None)

    def _probes(self) -> Sequence[Reply]:
        return [*self.raw[len(QUESTIONS) :], *self.further]


def deal(
    replies: Sequence[Reply], memories: Mapping[QueueId, QueueMemory], before: Mapping[QueueId, LastTime]
) -> Iterator[FirstLook]:
    """Deal the replies out to the queues, in the order of the questions; `before` is what they came to last time."""
    start = 0
    for queue, memory in memories.items():
        stop = start + len(QUESTIONS) + len(memory.probed_levels)
        raw = replies[start:stop]
        last = before.get(queue)
        yield FirstLook(queue, memory, raw, unchanged=last is not None and last.raw == raw)
        start = stop


def has_new_levels(look: FirstLook) -> bool:
    """Whether the queue is seen for the first time, with more priorities than the window shows."""
    return not look.memory.seen and is_deep(look.answers) and bool(window_levels(look.answers))


async def find_levels(talk: Talk, looks: Sequence[FirstLook]) -> None:
    """Visit all levels of queues that are seen for the first time, one further level of each in a round trip."""
    frontier = [(look, max(window_levels(look.answers))) for look in looks]
    for _ in range(MOST_LEVELS):
        if not frontier:
            return
        probes = b"".join(level_probe(look.queue, level) for look, level in frontier)
        replies = await talk.exchange(probes, len(frontier))
        reached: list[tuple[FirstLook, int]] = []
        for (look, _), reply in zip(frontier, replies, strict=True):
            look.further.append(reply)
            reached += [(look, level) for level in probed([reply])]
        frontier = reached
