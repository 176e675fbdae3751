"""The second round trip for one queue: what depends on the answers of the first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from qobserve.model.keys import text
from qobserve.model.layout import UNKNOWN, layout_of_keys, layout_of_version
from qobserve.model.reading import NOTHING_LEFT, Details, Rest, meta_of
from qobserve.model.reply import Fault, whole
from qobserve.model.snapshot import Problem
from qobserve.reader.active import ActivePlan
from qobserve.reader.ages import AgePlan
from qobserve.reader.connection import pack
from qobserve.reader.groups import group_commands, groups_of
from qobserve.reader.levels import head_probes, is_deep, probed, search_commands, to_follow, window_levels
from qobserve.reader.rest import rest_commands
from qobserve.reader.schedulers import SchedulerPlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Answers
    from qobserve.model.reply import Reply
    from qobserve.reader.active import Actives
    from qobserve.reader.budget import Budget, EventBudget
    from qobserve.reader.memory import QueueMemory

_PARTS = ("age", "payload", "age", "info", "depth", "depth", "schedulers", "age")
"""The collector that each section of a plan is for."""

_PART_OF = {"PTTL": "limits", "GET": "limits"}
"""The same, where a command is for another one: the locks tell whether the queue is blocked by stalled jobs."""

_KEYS = 3
"""The section that asks for keys which tell the layout."""

_GROUPS = 4
"""The section that asks for Pro's groups, which no event tells of."""

_KEY_SHOWN = 200


class DetailPlan:
    """What is asked about one queue in the second round trip, and how the replies are understood.

    Args:
        queue: Which one.
        answers: What the first round trip told.
        heads: First jobs of the priority levels beyond the window, by level.
        memory: What is known from before; `details` brings it up to date.
        budget: How much may be read.
        now_ms: The server's clock.
        woken: Whether the queue was quiet, and some first answers are last time's, the stream's end among them; such a
            plan serves once.
        stirred: Whether the prioritized set has changed since last time, so that there may be levels that nobody knows.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - a plan is made of all that is known of a queue
        self,
        queue: QueueId,
        answers: Answers,
        heads: Mapping[int, bytes],
        memory: QueueMemory,
        budget: Budget,
        now_ms: int,
        *,
        stirred: bool,
        woken: bool,
    ) -> None:
        self._queue = queue
        self._memory = memory
        self._woken = woken
        self._ages = AgePlan(queue, answers, heads.values(), memory, budget, woken=woken)
        self._active = ActivePlan(queue, answers, memory, budget)
        self._schedulers = SchedulerPlan(queue, answers, memory, budget.windows, now_ms)
        self._deep = is_deep(answers)
        self._searches = self._deep and stirred
        self._levels = self._known_levels(answers, heads)
        version = meta_of(answers).version
        rest = rest_commands(queue, answers, budget.windows, memory.ended_score)
        self._rest = tuple(rest)
        self._layout = layout_of_version(version)
        self._sections = (
            self._ages.commands,
            [pack(b"HSTRLEN", queue.key(job), b"data") for job in self._weighed(budget.payloads)],
            self._search(answers) if self._searches else [],
            self._layout_questions(),
            group_commands(queue, version),
            list(rest.values()),
            self._schedulers.commands,
            self._active.commands,
        )
        self.commands = b"".join(command for section in self._sections for command in section)
        self.expected = sum(map(len, self._sections))
        self._steady = self.expected - len(self._active.commands)
        self._last: tuple[Sequence[Reply], Actives, Details] | None = None

    def is_current(self, memory: QueueMemory, now_ms: int) -> bool:
        """Whether the same first answers would lead to this plan again, with what is remembered of the queue now."""
        known = memory is self._memory and not self._searches and not self._woken
        return known and self._ages.is_current() and self._schedulers.is_current(now_ms)

    def _layout_questions(self) -> list[bytes]:
        """The keys that tell the layout where no version does."""
        key = self._queue.key
        return [] if self._layout != UNKNOWN else [pack(b"ZCARD", key(b"priority")), pack(b"EXISTS", key(b"marker"))]

    def _weighed(self, most: int) -> list[bytes]:
        """The jobs whose payloads' sizes are asked."""
        return [*self._ages.jobs, *self._active.jobs][:most]

    @property
    def is_lasting(self) -> bool:
        """Whether the same replies would come to the same, and events would tell of all that it depends on."""
        return self._last is not None and not self._sections[_GROUPS]

    @property
    def asks_for_lengths(self) -> bool:
        """Whether windows are full, so that they do not show all."""
        return bool(self._rest)

    @property
    def lock_commands(self) -> list[bytes]:
        """The questions for the locks of the active jobs alone."""
        return self._active.lock_commands

    def stream_commands(self, events: EventBudget) -> list[bytes]:
        """The questions for the event stream, where it can say more about the ages than the hashes do."""
        return self._ages.stream_commands(events)

    def _known_levels(self, answers: Answers, heads: Mapping[int, bytes]) -> tuple[int, ...]:
        """The levels that there are, as far as is known; those that were asked for and are empty are forgotten."""
        remembered = () if self._memory.deep else self._memory.levels
        return to_follow([*window_levels(answers), *heads, *remembered])

    def _search(self, answers: Answers) -> list[bytes]:
        """Look for levels that are not known; and for the first jobs of those that were not asked for this time."""
        unasked = () if self._memory.deep else self._memory.levels
        length = whole(answers.prioritized_length) or 0
        return [*head_probes(self._queue, unasked), *search_commands(self._queue, self._levels, length)]

    def details(self, replies: Sequence[Reply], stream: Sequence[Reply], stream_facts: Reply, now_ms: int) -> Details:
        """Understand the replies to `commands` and to `stream_commands`, and remember what the next scrape needs.

        The same replies come to the same details, the very object. The locks of active jobs, which count down, do not
        matter by themselves, but by what they say.
        """
        steady, active = replies[: self._steady], replies[self._steady :]
        layout = self._layout_by(steady)
        actives = self._active.read(active, now_ms, layout)
        if not stream and self._last is not None and self._last[:2] == (steady, actives):
            return self._last[2]
        details, lasting = self._details(steady, actives, (stream, stream_facts), layout, now_ms)
        problems = self._problems((*self._parts(steady), active), stream)
        details = replace(details, problems=problems) if problems else details
        self._last = (steady, actives, details) if lasting and not problems else None
        return details

    def _details(
        self,
        steady: Sequence[Reply],
        actives: Actives,
        stream: tuple[Sequence[Reply], Reply],
        layout: str,
        now_ms: int,
    ) -> tuple[Details, bool]:
        hashes, sizes, probes, _, groups, rest, schedulers = self._parts(steady)
        ages, lasting = self._ages.read(hashes, *stream, now_ms)
        self._memory.levels = to_follow([*self._levels, *probed(probes)]) or self._memory.levels
        self._memory.deep, self._memory.seen = self._deep, True
        details = Details(
            waiting_since=ages.waiting,
            prioritized_since=ages.prioritized,
            active_since_ms=actives.since_ms,
            unlocked=actives.unlocked,
            data_bytes=max((size for size in map(whole, sizes) if size), default=None),
            groups=groups_of(groups),
            schedulers=self._schedulers.read(schedulers),
            rest=Rest(**dict(zip(self._rest, rest, strict=True))) if rest else NOTHING_LEFT,
            layout=layout,
        )
        if details.rest.schedulers_skipped == 0:
            self._memory.ended_score = None  # those that were left out are gone
        return details, lasting

    def _parts(self, steady: Sequence[Reply]) -> list[Sequence[Reply]]:
        """The replies by section, without the active jobs'."""
        parts: list[Sequence[Reply]] = []
        start = 0
        for section in self._sections[:-1]:
            parts.append(steady[start : start + len(section)])
            start += len(section)
        return parts

    def _layout_by(self, steady: Sequence[Reply]) -> str:
        if self._layout != UNKNOWN:
            return self._layout
        return layout_of_keys(*self._parts(steady)[_KEYS])

    def _problems(self, replies: Sequence[Sequence[Reply]], stream: Sequence[Reply]) -> tuple[Problem, ...]:
        """One problem for each part that has faults."""
        told: dict[str, str] = {}
        for reply in stream:
            if isinstance(reply, Fault):
                told["age"] = f"XRANGE or XREVRANGE {self._queue}:events: {reply.message}"
        for part, commands, answers in zip(_PARTS, self._sections, replies, strict=True):
            if Fault in map(type, answers):
                for command, reply in zip(commands, answers, strict=True):
                    if isinstance(reply, Fault):
                        verb, key = _verb_and_key(command)
                        told.setdefault(_PART_OF.get(verb, part), f"{verb} {key}: {reply.message}")
        return tuple(Problem(part=part, queue=self._queue, what=what) for part, what in told.items())


def _verb_and_key(command: bytes) -> tuple[str, str]:
    """What a packed command asks of which key, for people; a key may be very long."""
    _, _, verb, length, rest = command.split(b"\r\n", 4)
    return verb.decode(), text(rest[: min(int(length[1:]), _KEY_SHOWN)])
