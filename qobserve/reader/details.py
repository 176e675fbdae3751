"""The second round trip for one queue: what depends on the answers of the first."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from qobserve.model.layout import UNKNOWN, layout_of_keys, layout_of_version
from qobserve.model.reading import Details, meta_of
from qobserve.model.reply import Fault, whole
from qobserve.model.snapshot import Problem
from qobserve.reader.active import ActivePlan
from qobserve.reader.ages import AgePlan
from qobserve.reader.connection import pack
from qobserve.reader.groups import GroupPlan
from qobserve.reader.levels import is_deep, probed, to_follow, window_levels
from qobserve.reader.questions import level_probe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.model.events import StreamFacts
    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Answers
    from qobserve.model.reply import Reply
    from qobserve.reader.budget import Budget, EventBudget
    from qobserve.reader.memory import QueueMemory


class DetailPlan:
    """What is asked about one queue in the second round trip, and how the replies are understood.

    Args:
        queue: Which one.
        answers: What the first round trip told.
        heads: First jobs of the priority levels beyond the window, by level.
        memory: What is known from before; `details` brings it up to date.
        budget: How much may be read.
    """

    def __init__(
        self, queue: QueueId, answers: Answers, heads: Mapping[int, bytes], memory: QueueMemory, budget: Budget
    ) -> None:
        self._queue = queue
        self._memory = memory
        self._ages = AgePlan(queue, answers, heads.values(), memory, budget)
        self._active = ActivePlan(queue, answers, memory, budget)
        self._groups = GroupPlan(queue, meta_of(answers).version)
        self._weighed = [
            job
            for jobs in (self._ages.waiting, self._ages.prioritized, self._active.jobs)
            for job in jobs[: budget.payloads]
        ]
        self._levels = to_follow(window_levels(answers) | heads.keys()) if is_deep(answers) else ()
        self._new_levels = [found for found in self._levels if found not in memory.levels]
        self._layout = layout_of_version(meta_of(answers).version)

    def ask_stream(self, stream: StreamFacts | None, events: EventBudget) -> None:
        """Have the stream's tail read where it can say more about the ages than the hashes."""
        self._ages.ask_stream(stream, events)

    def commands(self) -> list[bytes]:
        """The packed commands, in the order in which `details` takes their replies."""
        key = self._queue.key
        return [
            *self._ages.commands(),
            *(pack(b"HSTRLEN", key(job), b"data") for job in self._weighed),
            *(level_probe(self._queue, level) for level in self._new_levels),
            *([pack(b"ZCARD", key(b"priority")), pack(b"EXISTS", key(b"marker"))] if self._layout == UNKNOWN else []),
            *self._active.commands(),
            *self._groups.commands(),
        ]

    def details(self, replies: Sequence[Reply], now_ms: int) -> Details:
        """Understand the replies, and remember what the next scrape needs."""
        take = iter(replies)
        ages = self._ages.read(take, now_ms)
        sizes = [whole(reply) for reply in islice(take, len(self._weighed))]
        self._memory.levels = to_follow([*self._levels, *probed(islice(take, len(self._new_levels)))])
        layout = layout_of_keys(next(take), next(take)) if self._layout == UNKNOWN else self._layout
        actives = self._active.read(take, now_ms, layout)
        return Details(
            waiting_since=ages.waiting,
            prioritized_since=ages.prioritized,
            active_since_ms=actives.since_ms,
            unlocked=actives.unlocked,
            data_bytes=max((size for size in sizes if size), default=None),
            groups=self._groups.read(take),
            layout=layout,
            problems=self._problems(replies),
        )

    def _problems(self, replies: Sequence[Reply]) -> tuple[Problem, ...]:
        fault = next((reply for reply in replies if isinstance(reply, Fault)), None)
        return () if fault is None else (Problem(part="age", queue=self._queue, what=fault.message),)
