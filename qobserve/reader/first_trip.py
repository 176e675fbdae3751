"""The first round trip: what each queue answered, and the levels of priority sets that are seen for the first time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qobserve.model.reading import Answers
from qobserve.model.reply import Fault
from qobserve.reader.budget import MOST_LEVELS
from qobserve.reader.levels import is_deep, probed, window_levels
from qobserve.reader.questions import QUESTIONS, level_probe
from qobserve.reader.quiet import LATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reply import Reply
    from qobserve.reader.connection import Talk
    from qobserve.reader.last_time import LastTime
    from qobserve.reader.memory import QueueMemory
    from qobserve.reader.quiet import News, QuietQueue


@dataclass(slots=True)
class FirstLook:
    """A queue after the first round trip; its replies stay as they came where they are the same as last time.

    Attributes:
        raw: Replies to all questions, then to the probes for the levels known from before.
        unchanged: Whether they are the same as last time.
        quiet: Whether nothing else needs to be asked.
        late: Places of first questions that were not asked yet, as the queue was quiet until now.
        further: Replies to probes for levels that were not known.
    """

    queue: QueueId
    memory: QueueMemory
    raw: list[Reply]
    unchanged: bool
    quiet: bool = False
    late: Sequence[int] = ()
    further: list[Reply] = field(default_factory=list)

    def complete(self, replies: Sequence[Reply]) -> None:
        """Put the late answers where they belong."""
        for place, reply in zip(self.late, replies, strict=True):
            self.raw[place] = reply

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


@dataclass(frozen=True, slots=True)
class Asked:
    """What one queue was asked: its questions and probes, or less (`quiet`); and how many replies that brings."""

    queue: QueueId
    memory: QueueMemory
    batch: bytes
    expected: int
    quiet: QuietQueue | None


def deal(
    replies: list[Reply], group: Iterable[Asked], news: News | None, before: Mapping[QueueId, LastTime], now_ms: int
) -> Iterator[FirstLook]:
    """Deal the replies out to the queues that were asked; `before` is what they came to last time.

    Args:
        replies: To their questions, one queue's after another's.
        group: Who was asked what.
        news: What is new of the quiet ones among them; None where there are none.
        before: What the queues came to last time.
        now_ms: The server's clock.
    """
    start = 0
    for asked in group:
        told = replies[start : start + asked.expected]
        start += asked.expected
        last = before.get(asked.queue)
        if asked.quiet is None or last is None:
            same = last is not None and last.raw == told
            yield FirstLook(asked.queue, asked.memory, told, unchanged=same)
            continue
        nothing_new = news is not None and news.none_of(asked.quiet)
        if nothing_new and asked.quiet.is_same(told) and last.plan.is_current(asked.memory, now_ms):
            yield FirstLook(asked.queue, asked.memory, last.raw, unchanged=True, quiet=True)
        else:
            woken = asked.quiet.woken(told, None if news is None else news.entries(asked.quiet))
            yield FirstLook(asked.queue, asked.memory, woken, unchanged=False, late=LATE)


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
