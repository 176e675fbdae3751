"""One look at the queues of one server: at most two round trips, once its queues are known.

Cold queues whose priorities fill more than the window cost further trips, one for each level, the first time only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from qobserve.model.clients import WorkerNames
from qobserve.model.events import stream_facts
from qobserve.model.info import parse_info, redis_facts
from qobserve.model.reading import is_bullmq, queue_snapshot
from qobserve.model.reply import Fault
from qobserve.model.snapshot import ServerSnapshot, Workers
from qobserve.reader.budget import EventBudget, share
from qobserve.reader.connection import pack
from qobserve.reader.details import DetailPlan
from qobserve.reader.first_trip import deal, find_levels
from qobserve.reader.last_time import LastTime
from qobserve.reader.problems import queue_problems, without_repetition
from qobserve.reader.questions import QUESTIONS, first_batch, level_probe
from qobserve.reader.whole_server import clock, refuse_whole_server, server_problems

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Details
    from qobserve.model.reply import Reply
    from qobserve.model.snapshot import QueueSnapshot, RedisFacts
    from qobserve.reader.connection import Link
    from qobserve.reader.first_trip import FirstLook
    from qobserve.reader.memory import QueueMemory

_HEADER = (pack(b"TIME"), pack(b"INFO"))
_CLIENT_LIST = pack(b"CLIENT", b"LIST")


class Looker:
    """Looks at one server; keeps the packed questions, which change only with the number of queues.

    `redirected` tells whether the server said, the last time, that a queue is on another one now.
    """

    def __init__(self, *, schedulers: int, most_clients: int) -> None:
        self._schedulers = schedulers
        self._most_clients = most_clients
        self._packed: dict[QueueId, tuple[tuple[int, ...], bytes]] = {}
        self._budget = share(0, schedulers)
        self._names = WorkerNames(())
        self._last: dict[QueueId, LastTime] = {}
        self.redirected = False

    async def look(
        self, link: Link, memories: Mapping[QueueId, QueueMemory], *, always: Callable[[QueueId], bool]
    ) -> ServerSnapshot:
        """Look at the queues of one server; those that are not BullMQ's are left out, unless `always` says otherwise.

        Raises:
            RedisError: The server as a whole does not serve us.
        """
        self._fit(memories)
        (time, info), first = await self._first(link, memories)
        now_ms = clock(time, info, link.where)
        self.redirected = any(_is_redirection(one.raw[0]) for one in first)
        seen = [one for one in first if one.memory.confirmed or _confirm(one) or always(one.queue)]
        await find_levels(link, seen)
        facts = redis_facts(parse_info(info)) if isinstance(info, bytes) else None
        listing, queues = await self._second(link, seen, now_ms, facts)
        problems = tuple(server_problems(age=time, redis_safety=info, workers=listing))
        return ServerSnapshot(now_ms=now_ms, queues=queues, facts=facts, problems=problems)

    def _fit(self, memories: Mapping[QueueId, QueueMemory]) -> None:
        """Share the budget out anew when the number of queues has changed."""
        budget = share(len(memories), self._schedulers)
        if budget != self._budget:
            self._budget = budget
            self._forget()
        if len(self._packed) > 2 * len(memories):
            self._forget()

    def _forget(self) -> None:
        self._packed.clear()
        self._last.clear()

    def _questions(self, queue: QueueId, levels: tuple[int, ...]) -> bytes:
        """The packed questions about a queue and the probes after its known levels."""
        kept = self._packed.get(queue)
        if kept is None or kept[0] != levels:
            probes = (level_probe(queue, level) for level in levels)
            kept = self._packed[queue] = (levels, b"".join([first_batch(queue, self._budget.windows), *probes]))
        return kept[1]

    async def _first(
        self, link: Link, memories: Mapping[QueueId, QueueMemory]
    ) -> tuple[tuple[Reply, Reply], list[FirstLook]]:
        batch = [*_HEADER]
        expected = len(_HEADER)
        for queue, memory in memories.items():
            batch.append(self._questions(queue, memory.levels))
            expected += len(QUESTIONS) + len(memory.levels)
        replies = await link.exchange(b"".join(batch), expected)
        answers = replies[len(_HEADER) :]
        refuse_whole_server(replies[1], answers, link.where)
        return (replies[0], replies[1]), list(deal(answers, memories, self._last))

    async def _second(
        self, link: Link, seen: Sequence[FirstLook], now_ms: int, facts: RedisFacts | None
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
            snapshots.append(self._settled(one, plan, details, counted))
            start = stop + len(tail)
        return listing, tuple(snapshots)

    def _plan(self, one: FirstLook) -> DetailPlan:
        """Last time's plan where nothing has changed that it depends on, else a new one."""
        last = self._last.get(one.queue)
        if last is not None and one.unchanged and last.plan.is_current(one.memory):
            return last.plan
        return DetailPlan(one.queue, one.answers, one.heads, one.memory, self._budget)

    def _settled(self, one: FirstLook, plan: DetailPlan, details: Details, workers: int | None) -> QueueSnapshot:
        """The queue's snapshot: last time's own where everything is the same."""
        last = self._last.get(one.queue)
        counted = None if workers is None else Workers(count=workers, evidence="connections")
        if last is not None and last.details is details and last.snapshot.workers == counted:
            return last.snapshot
        answers = one.answers
        problems = without_repetition((*queue_problems(one.queue, answers, one.refused), *details.problems))
        told = replace(details, workers=counted, problems=problems)
        snapshot = queue_snapshot(one.queue, answers, stream_facts(answers.events), told)
        self._last[one.queue] = LastTime(raw=one.raw, plan=plan, details=details, snapshot=snapshot)
        return snapshot

    def _count_workers(self, listing: Reply, seen: Sequence[FirstLook]) -> Mapping[QueueId, int] | None:
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


def _confirm(one: FirstLook) -> bool:
    one.memory.confirmed = is_bullmq(one.answers)
    return one.memory.confirmed


def _is_redirection(reply: Reply) -> bool:
    return isinstance(reply, Fault) and reply.code in ("MOVED", "ASK")
