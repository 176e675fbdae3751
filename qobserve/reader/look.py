"""One look at the queues of one server: at most two round trips, once its queues are known.

Cold queues whose priorities fill more than the window cost further trips, one for each level, the first time only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qobserve.errors import RedisNotReady
from qobserve.model.clients import count_workers
from qobserve.model.events import is_missing, stream_facts
from qobserve.model.info import parse_info, redis_facts
from qobserve.model.reading import Answers, is_bullmq, queue_snapshot
from qobserve.model.reply import Fault, whole
from qobserve.model.snapshot import Problem, Workers
from qobserve.reader.budget import MOST_LEVELS, EventBudget, share
from qobserve.reader.connection import pack, refusal
from qobserve.reader.details import DetailPlan
from qobserve.reader.levels import is_deep, probed, to_follow, window_levels
from qobserve.reader.questions import QUESTIONS, first_batch, level_probe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Details
    from qobserve.model.reply import Reply
    from qobserve.model.snapshot import QueueSnapshot, RedisFacts
    from qobserve.reader.connection import Link
    from qobserve.reader.memory import QueueMemory

_HEADER = (pack(b"TIME"), pack(b"INFO"))
_CLIENT_LIST = pack(b"CLIENT", b"LIST")
_REDIRECTIONS = {"MOVED", "ASK"}
_WHOLE_SERVER = {"LOADING", "MASTERDOWN", "CLUSTERDOWN", "NOAUTH"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one server told.

    Attributes:
        queues: Snapshots of the queues that are BullMQ's.
        facts: The server itself.
        problems: What of the server could not be read.
        moved: Whether it said that a queue is on another server now.
    """

    queues: tuple[QueueSnapshot, ...]
    facts: RedisFacts | None
    problems: tuple[Problem, ...]
    moved: bool


@dataclass(slots=True)
class _First:
    """A queue after the first round trip."""

    queue: QueueId
    memory: QueueMemory
    answers: Answers
    heads: dict[int, bytes]


class Looker:
    """Looks at servers; keeps the packed questions, which change only with the number of queues."""

    def __init__(self, *, schedulers: int, most_clients: int) -> None:
        self._schedulers = schedulers
        self._most_clients = most_clients
        self._packed: dict[QueueId, bytes] = {}
        self._budget = share(0, schedulers)

    async def look(
        self, link: Link, memories: Mapping[QueueId, QueueMemory], *, always: Callable[[QueueId], bool]
    ) -> Look:
        """Look at the queues of one server; those that are not BullMQ's are left out, unless `always` says otherwise.

        Raises:
            RedisError: The server as a whole does not serve us.
        """
        self._fit(memories)
        time, info, first = await self._first(link, memories)
        seen = [one for one in first if always(one.queue) or self._confirmed(one)]
        await self._find_levels(link, [one for one in seen if is_deep(one.answers) and not one.memory.levels])
        facts = redis_facts(parse_info(info)) if isinstance(info, bytes) else None
        listing, queues = await self._second(link, seen, time, facts)
        return Look(
            queues=queues,
            facts=facts,
            problems=tuple(_server_problems(redis_safety=info, workers=listing)),
            moved=any(_is_redirection(one.answers.wait_length) for one in first),
        )

    def _fit(self, memories: Mapping[QueueId, QueueMemory]) -> None:
        budget = share(len(memories), self._schedulers)
        if budget != self._budget or len(self._packed) > 2 * len(memories):
            self._packed.clear()
            self._budget = budget

    def _questions(self, queue: QueueId) -> bytes:
        packed = self._packed.get(queue)
        if packed is None:
            packed = self._packed[queue] = first_batch(queue, self._budget.windows)
        return packed

    async def _first(self, link: Link, memories: Mapping[QueueId, QueueMemory]) -> tuple[int, Reply, list[_First]]:
        batch = [*_HEADER]
        expected = len(_HEADER)
        for queue, memory in memories.items():
            batch.append(self._questions(queue))
            batch += [level_probe(queue, level) for level in memory.levels]
            expected += len(QUESTIONS) + len(memory.levels)
        replies = await link.exchange(b"".join(batch), expected)
        now_ms = _clock(replies[0], link.where)
        _refuse_whole_server(replies[1], replies[len(_HEADER) :], link.where)
        return now_ms, replies[1], list(_dealt(replies, memories))

    @staticmethod
    def _confirmed(one: _First) -> bool:
        one.memory.confirmed = one.memory.confirmed or is_bullmq(one.answers)
        return one.memory.confirmed

    @staticmethod
    async def _find_levels(link: Link, deep: Sequence[_First]) -> None:
        """Visit the levels of sets that have just outgrown the window, one further level of each in a round trip."""
        frontier = [(one, max(window_levels(one.answers))) for one in deep]
        for one in deep:
            one.memory.levels = to_follow(window_levels(one.answers))
        for _ in range(MOST_LEVELS):
            if not frontier:
                return
            probes = b"".join(level_probe(one.queue, level) for one, level in frontier)
            replies = await link.exchange(probes, len(frontier))
            further = [(one, probed([reply])) for (one, _), reply in zip(frontier, replies, strict=True)]
            frontier = [(one, max(found)) for one, found in further if found]
            for one, found in further:
                one.heads |= found
                one.memory.levels = to_follow([*one.memory.levels, *found])

    async def _second(
        self, link: Link, seen: Sequence[_First], now_ms: int, facts: RedisFacts | None
    ) -> tuple[Reply, tuple[QueueSnapshot, ...]]:
        events = EventBudget(len(seen))
        plans: list[tuple[DetailPlan, list[bytes]]] = []
        for one in seen:
            plan = DetailPlan(one.queue, one.answers, one.heads, one.memory, self._budget)
            plan.ask_stream(stream_facts(one.answers.events), events)
            plans.append((plan, plan.commands()))
        batch = [command for _, commands in plans for command in commands]
        if self._may_list_clients(facts):
            batch.append(_CLIENT_LIST)
        replies = await link.exchange(b"".join(batch), len(batch)) if batch else []
        listing = replies[-1] if self._may_list_clients(facts) else None
        workers = count_workers(listing, [one.queue for one in seen]) if isinstance(listing, bytes) else {}
        snapshots: list[QueueSnapshot] = []
        start = 0
        for one, (plan, commands) in zip(seen, plans, strict=True):
            details = plan.details(replies[start : start + len(commands)], now_ms)
            start += len(commands)
            snapshots.append(_settled(one, now_ms, details, workers.get(one.queue)))
        return listing, tuple(snapshots)

    def _may_list_clients(self, facts: RedisFacts | None) -> bool:
        """Workers are connected to a primary, and a list of very many connections costs more than it is worth."""
        if facts is None:
            return self._most_clients > 0
        return facts.role in ("master", "") and (facts.connected_clients or 0) <= self._most_clients


def _dealt(replies: Sequence[Reply], memories: Mapping[QueueId, QueueMemory]) -> Iterator[_First]:
    """Deal the replies of the first round trip out to the queues."""
    start = len(_HEADER)
    for queue, memory in memories.items():
        probes = start + len(QUESTIONS)
        answers = Answers._make(replies[start:probes])
        start = probes + len(memory.levels)
        yield _First(queue=queue, memory=memory, answers=answers, heads=probed(replies[probes:start]))


def _settled(one: _First, now_ms: int, details: Details, workers: int | None) -> QueueSnapshot:
    counted = None if workers is None else Workers(count=workers, evidence="connections")
    problems = (*_problems(one), *details.problems)
    return queue_snapshot(one.queue, now_ms, one.answers, replace(details, workers=counted, problems=problems))


def _problems(one: _First) -> Iterator[Problem]:
    """One problem for each part that has faults; a stream that does not exist is none."""
    told: set[str] = set()
    for question, reply in zip(QUESTIONS.values(), one.answers, strict=True):
        if isinstance(reply, Fault) and question.part not in told and not is_missing(reply):
            told.add(question.part)
            what = f"{question.command.decode()} {one.queue.name}:{question.suffix.decode()}: {reply.message}"
            yield Problem(part=question.part, queue=one.queue, what=what)


def _server_problems(**replies: Reply) -> Iterator[Problem]:
    for part, reply in replies.items():
        if isinstance(reply, Fault):
            yield Problem(part=part, queue=None, what=reply.message)


def _is_redirection(reply: Reply) -> bool:
    return isinstance(reply, Fault) and reply.code in _REDIRECTIONS


def _clock(reply: Reply, where: str) -> int:
    """The server's clock in ms, from TIME."""
    if isinstance(reply, Fault):
        raise refusal(reply, where)
    seconds, micros = (whole(part) for part in reply) if isinstance(reply, list) else (None, None)
    if seconds is None or micros is None:
        raise RedisNotReady(f"{where} answered TIME in an unknown form")
    return seconds * 1000 + micros // 1000


def _refuse_whole_server(info: Reply, answers: Sequence[Reply], where: str) -> None:
    """Raise if the server serves no data at all: it is loading, cut off from its primary, or lets us read nothing."""
    if isinstance(info, bytes) and b"\nloading:1" in info:
        raise RedisNotReady(f"{where} cannot serve now: it is loading its data into memory")
    faults = [reply for reply in answers if isinstance(reply, Fault)]
    fatal = next((fault for fault in faults if fault.code in _WHOLE_SERVER), None)
    if fatal is not None:
        raise refusal(fatal, where)
    if faults and len(faults) == len(answers):
        raise refusal(faults[0], where)
