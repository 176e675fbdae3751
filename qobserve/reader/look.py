"""One look at the queues of one server: at most two round trips, once its queues are known.

Cold queues whose priorities fill more than the window cost further trips, one for each level, the first time only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qobserve.errors import RedisNotReady
from qobserve.model.clients import WorkerNames
from qobserve.model.events import is_missing, stream_facts
from qobserve.model.info import parse_info, redis_facts
from qobserve.model.reading import Answers, is_bullmq, queue_snapshot
from qobserve.model.reply import Fault, whole
from qobserve.model.snapshot import Problem, ServerSnapshot, Workers
from qobserve.reader.budget import MOST_LEVELS, EventBudget, share
from qobserve.reader.connection import pack, refusal
from qobserve.reader.details import DetailPlan
from qobserve.reader.levels import is_deep, probed, to_follow, window_levels
from qobserve.reader.memory import Unchanged
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
_WHOLE_SERVER = {"LOADING", "MASTERDOWN", "CLUSTERDOWN", "NOAUTH"}


@dataclass(slots=True)
class _First:
    """A queue after the first round trip; `answers` is not decoded where it is the same as last time."""

    queue: QueueId
    memory: QueueMemory
    raw: Sequence[Reply]
    heads: dict[int, bytes]

    @property
    def answers(self) -> Answers:
        return Answers._make(self.raw)


class Looker:
    """Looks at one server; keeps the packed questions, which change only with the number of queues.

    `redirected` tells whether the server said, the last time, that a queue is on another one now.
    """

    def __init__(self, *, schedulers: int, most_clients: int) -> None:
        self._schedulers = schedulers
        self._most_clients = most_clients
        self._packed: dict[QueueId, bytes] = {}
        self._budget = share(0, schedulers)
        self._names = WorkerNames(())
        self.redirected = False

    async def look(
        self, link: Link, memories: Mapping[QueueId, QueueMemory], *, always: Callable[[QueueId], bool]
    ) -> ServerSnapshot:
        """Look at the queues of one server; those that are not BullMQ's are left out, unless `always` says otherwise.

        Raises:
            RedisError: The server as a whole does not serve us.
        """
        self._fit(memories)
        now_ms, info, first = await self._first(link, memories)
        self.redirected = any(_is_redirection(one.raw[0]) for one in first)
        seen = [one for one in first if one.memory.confirmed or _confirm(one) or always(one.queue)]
        await _find_levels(link, seen)
        facts = redis_facts(parse_info(info)) if isinstance(info, bytes) else None
        listing, queues = await self._second(link, seen, now_ms, facts)
        problems = tuple(_server_problems(redis_safety=info, workers=listing))
        return ServerSnapshot(now_ms=now_ms, queues=queues, facts=facts, problems=problems)

    def _fit(self, memories: Mapping[QueueId, QueueMemory]) -> None:
        """Share the budget out anew when the number of queues has changed."""
        budget = share(len(memories), self._schedulers)
        if budget != self._budget:
            self._packed.clear()
            self._budget = budget
            for memory in memories.values():
                memory.unchanged = Unchanged()
        if len(self._packed) > 2 * len(memories):
            self._packed.clear()

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

    async def _second(
        self, link: Link, seen: Sequence[_First], now_ms: int, facts: RedisFacts | None
    ) -> tuple[Reply, tuple[QueueSnapshot, ...]]:
        events = EventBudget(len(seen))
        plans = [self._plan(one) for one in seen]
        tails = [plan.tail_command(events) for plan in plans]
        batch = [part for plan, tail in zip(plans, tails, strict=True) for part in (plan.commands, *tail)]
        expected = sum(plan.expected + len(tail) for plan, tail in zip(plans, tails, strict=True))
        lists_clients = self._may_list_clients(facts)
        if lists_clients:
            batch.append(_CLIENT_LIST)
        replies = await link.exchange(b"".join(batch), expected + lists_clients)
        listing = replies[-1] if lists_clients else None
        workers = self._count_workers(listing, seen)
        snapshots: list[QueueSnapshot] = []
        start = 0
        for one, plan, tail in zip(seen, plans, tails, strict=True):
            stop = start + plan.expected
            details = plan.details(replies[start:stop], replies[stop] if tail else None, now_ms)
            counted = None if workers is None else workers[one.queue]
            snapshots.append(_settled(one, plan, details, counted))
            start = stop + len(tail)
        return listing, tuple(snapshots)

    def _plan(self, one: _First) -> DetailPlan:
        """Last time's plan where nothing has changed that it depends on, else a new one."""
        last = one.memory.unchanged
        if last.plan is not None and last.answers == one.raw and not one.memory.levels and last.plan.is_current():
            return last.plan
        last.snapshot = None
        return DetailPlan(one.queue, one.answers, one.heads, one.memory, self._budget)

    def _count_workers(self, listing: Reply, seen: Sequence[_First]) -> Mapping[QueueId, int] | None:
        if not isinstance(listing, bytes):
            return None
        queues = tuple(one.queue for one in seen)
        if queues != self._names.queues:
            self._names = WorkerNames(queues)
        return self._names.count(listing)

    def _may_list_clients(self, facts: RedisFacts | None) -> bool:
        """Workers are connected to a primary, and a list of very many connections costs more than it is worth."""
        if facts is None:
            return self._most_clients > 0
        return facts.role in ("master", "") and (facts.connected_clients or 0) <= self._most_clients


def _confirm(one: _First) -> bool:
    one.memory.confirmed = is_bullmq(one.answers)
    return one.memory.confirmed


async def _find_levels(link: Link, seen: Sequence[_First]) -> None:
    """Visit the levels of sets that have just outgrown the window, one further level of each in a round trip."""
    deep = [one for one in seen if not one.memory.levels and one.raw != one.memory.unchanged.answers]
    frontier = [(one, max(window_levels(one.answers))) for one in deep if is_deep(one.answers)]
    for one, _ in frontier:
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


def _dealt(replies: Sequence[Reply], memories: Mapping[QueueId, QueueMemory]) -> Iterator[_First]:
    """Deal the replies of the first round trip out to the queues."""
    start = len(_HEADER)
    for queue, memory in memories.items():
        probes = start + len(QUESTIONS)
        stop = probes + len(memory.levels)
        heads = probed(replies[probes:stop]) if memory.levels else {}
        yield _First(queue=queue, memory=memory, raw=replies[start:probes], heads=heads)
        start = stop


def _settled(one: _First, plan: DetailPlan, details: Details, workers: int | None) -> QueueSnapshot:
    """The queue's snapshot: last time's own where everything is the same."""
    last = one.memory.unchanged
    told = last.snapshot
    if told is not None and details == last.details and (told.workers.count if told.workers else None) == workers:
        return told
    answers = one.answers
    snapshot = queue_snapshot(
        one.queue,
        answers,
        stream_facts(answers.events),
        replace(
            details,
            workers=None if workers is None else Workers(count=workers, evidence="connections"),
            problems=(*_problems(one.queue, answers), *details.problems),
        ),
    )
    last.answers, last.plan, last.details, last.snapshot = one.raw, plan, details, snapshot
    return snapshot


def _problems(queue: QueueId, answers: Answers) -> Iterator[Problem]:
    """One problem for each part that has faults; a stream that does not exist is none."""
    told: set[str] = set()
    for question, reply in zip(QUESTIONS.values(), answers, strict=True):
        if isinstance(reply, Fault) and question.part not in told and not is_missing(reply):
            told.add(question.part)
            what = f"{question.command.decode()} {queue.name}:{question.suffix.decode()}: {reply.message}"
            yield Problem(part=question.part, queue=queue, what=what)


def _is_redirection(reply: Reply) -> bool:
    return isinstance(reply, Fault) and reply.code in ("MOVED", "ASK")


def _server_problems(**replies: Reply) -> Iterator[Problem]:
    for part, reply in replies.items():
        if isinstance(reply, Fault):
            yield Problem(part=part, queue=None, what=reply.message)


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
    if Fault not in map(type, answers):
        return
    faults = [reply for reply in answers if isinstance(reply, Fault)]
    fatal = next((fault for fault in faults if fault.code in _WHOLE_SERVER), None)
    if fatal is not None:
        raise refusal(fatal, where)
    if len(faults) == len(answers):
        raise refusal(faults[0], where)
