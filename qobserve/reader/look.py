"""One look at the queues of one server: at most two round trips, once its queues are known.

All first questions leave in one write. While Redis still answers those about later queues, the second questions about
earlier ones are on their way, so that Redis and we work at the same time. Queues whose priorities have just outgrown
the window cost further trips, one for each level, that one time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from qobserve.model.clients import WorkerNames
from qobserve.model.events import NO_STREAM, stream_facts
from qobserve.model.info import parse_info, redis_facts
from qobserve.model.reading import queue_snapshot
from qobserve.model.reply import Fault
from qobserve.model.snapshot import ServerSnapshot, Workers
from qobserve.reader.budget import EventBudget, share
from qobserve.reader.connection import pack
from qobserve.reader.first_trip import Asked, deal, find_levels, has_new_levels
from qobserve.reader.last_time import LastTime
from qobserve.reader.levels import head_probes
from qobserve.reader.problems import queue_problems, without_repetition
from qobserve.reader.questions import QUESTIONS, first_batch
from qobserve.reader.quiet import NEWS, News, Quiet, news_commands
from qobserve.reader.second_trip import SecondTrip
from qobserve.reader.whole_server import clock, refuse_whole_server, server_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Details
    from qobserve.model.reply import Reply
    from qobserve.model.snapshot import QueueSnapshot, RedisFacts
    from qobserve.reader.connection import Link, Talk
    from qobserve.reader.details import DetailPlan
    from qobserve.reader.first_trip import FirstLook
    from qobserve.reader.memory import QueueMemory

    _Told: TypeAlias = tuple[FirstLook, DetailPlan, Details]

_HEADER = (pack(b"TIME"), pack(b"INFO"))
_CLIENT_LIST = pack(b"CLIENT", b"LIST")
_GROUP = 100


@dataclass(slots=True)
class _Answers:
    """What came back so far of the first round trip, beside the queues themselves."""

    count: int = 0
    faults: list[Fault] = field(default_factory=list)
    redirected: bool = False

    def tally(self, answers: Sequence[Reply]) -> None:
        self.count += len(answers)
        if Fault in map(type, answers):
            self.faults += [answer for answer in answers if isinstance(answer, Fault)]


class _Group:
    """Queues that are asked together; whether the streams of the quiet ones have news is asked last, of all at once."""

    __slots__ = ("asked", "batch", "expected", "quiet")

    def __init__(self, asked: Sequence[Asked]) -> None:
        self.asked = asked
        self.quiet = [each.quiet for each in asked if each.quiet is not None]
        news = news_commands(self.quiet) if self.quiet else b""
        self.batch = b"".join([*(each.batch for each in asked), news])
        self.expected = sum(each.expected for each in asked)


class Looker:
    """Looks at one server; keeps what it can use again, packed questions and what each queue came to.

    `redirected` tells whether the server said, the last time, that a queue is on another one now.
    """

    def __init__(self, *, schedulers: int, most_clients: int, database: int, cluster: bool) -> None:
        self._cluster = cluster
        self._database = database
        self._schedulers = schedulers
        self._most_clients = most_clients
        self._packed: dict[QueueId, tuple[tuple[tuple[int, ...], bytes | None], bytes]] = {}
        self._budget = share(0, schedulers)
        self._names = WorkerNames(())
        self._last: dict[QueueId, LastTime] = {}
        self._quiet = Quiet(self._budget.windows)
        self._turn = self._asking = self._opened = 0
        self.redirected = False

    async def look(self, link: Link, memories: Mapping[QueueId, QueueMemory]) -> ServerSnapshot:
        """Look at the queues of one server.

        Raises:
            RedisError: The server as a whole does not serve us.
        """
        self._fit(memories)
        async with link.talk() as talk:
            if link.opened != self._opened:  # it may be another server, or this one with older keys
                self._opened, self._quiet = link.opened, Quiet(self._budget.windows)
                self._last.clear()
            asked = [self._ask(queue, memory, place) for place, (queue, memory) in enumerate(memories.items())]
            groups = [_Group(asked[start : start + _GROUP]) for start in range(0, len(asked), _GROUP)]
            talk.send(b"".join([*_HEADER, *(group.batch for group in groups)]))
            time, info = await talk.receive(len(_HEADER))
            now_ms = clock(time, info, link.where)
            facts = redis_facts(parse_info(info)) if isinstance(info, bytes) else None
            answers = _Answers()
            trips, quiet, late = await self._first(talk, groups, answers, now_ms)
            refuse_whole_server(info, answers.faults, answers.count, link.where)
            listing, told = await self._second(talk, trips, late, now_ms, facts)
        self.redirected = answers.redirected
        told = _in_order([*quiet, *told], memories)
        queues = (*self._settled(told, listing, now_ms), *(queue for trip in trips for queue in trip.failed))
        problems = tuple(server_problems(age=time, redis_safety=info, workers=listing))
        return ServerSnapshot(now_ms=now_ms, queues=queues, facts=facts, problems=problems)

    def _fit(self, memories: Mapping[QueueId, QueueMemory]) -> None:
        """Share the budget out anew when the number of queues has changed."""
        budget = share(len(memories), self._schedulers)
        if budget != self._budget or len(self._packed) > 2 * len(memories):
            self._budget = budget
            self._packed.clear()
            self._last.clear()
            self._quiet = Quiet(budget.windows)

    def _ask(self, queue: QueueId, memory: QueueMemory, place: int) -> Asked:
        """The packed questions about a queue and the probes after its known levels; fewer of a quiet one."""
        quiet = None if self._cluster else self._quiet.due(queue, place, self._turn)
        if quiet is not None:
            return Asked(queue, memory, quiet.batch, quiet.expected, quiet)
        kept = self._packed.get(queue)
        if kept is None or kept[0] != (memory.probed_levels, memory.ended_score):
            probes = head_probes(queue, memory.probed_levels)
            batch = b"".join([first_batch(queue, self._budget.windows, memory.ended_score), *probes])
            kept = self._packed[queue] = ((memory.probed_levels, memory.ended_score), batch)
        return Asked(queue, memory, kept[1], len(QUESTIONS) + len(memory.probed_levels), None)

    async def _first(
        self, talk: Talk, groups: Sequence[_Group], answers: _Answers, now_ms: int
    ) -> tuple[list[SecondTrip], list[_Told], list[FirstLook]]:
        """Take the answers group by group, and send the second questions about each; and queues that must wait."""
        events = EventBudget(sum(len(group.asked) for group in groups), turn=self._turn, asking=self._asking)
        trips: list[SecondTrip] = []
        quiet: list[_Told] = []
        late: list[FirstLook] = []
        for group in groups:
            replies = await talk.receive(group.expected)
            news = News(group.quiet, await talk.receive(NEWS)) if group.quiet else None
            answers.tally(replies)
            busy: list[FirstLook] = []
            for look in deal(replies, group.asked, news, self._last, now_ms):
                if look.quiet:
                    quiet.append((look, self._last[look.queue].plan, self._last[look.queue].details))
                else:
                    answers.redirected = answers.redirected or _is_redirection(look.raw[0])
                    (late if has_new_levels(look) else busy).append(look)
            trip = SecondTrip(busy, self._last, self._budget, events, now_ms)
            talk.send(trip.batch)
            trips.append(trip)
        self._turn, self._asking = self._turn + 1, events.asked
        return trips, quiet, late

    async def _second(
        self, talk: Talk, trips: list[SecondTrip], late: Sequence[FirstLook], now_ms: int, facts: RedisFacts | None
    ) -> tuple[Reply, list[_Told]]:
        """Take the second answers, and those about queues whose levels had to be found before."""
        lists_clients = self._may_list_clients(facts)
        talk.send(_CLIENT_LIST if lists_clients else b"")
        told = [told for trip in trips for told in trip.read(await talk.receive(trip.expected))]
        (listing,) = await talk.receive(1) if lists_clients else (None,)
        if late:
            await find_levels(talk, late)
            trip = SecondTrip(late, self._last, self._budget, EventBudget(len(late)), now_ms)
            told += trip.read(await talk.exchange(trip.batch, trip.expected))
            trips.append(trip)
        return listing, told

    def _settled(self, told: Sequence[_Told], listing: Reply, now_ms: int) -> Iterator[QueueSnapshot]:
        """The queues' snapshots: last time's own where everything is the same."""
        workers = self._count_workers(listing, [look.queue for look, _, _ in told])
        for look, plan, details in told:
            counted = None if workers is None else Workers(count=workers[look.queue], evidence="connections")
            last = self._last.get(look.queue)
            if last is not None and look.unchanged and last.details is details:
                self._quiet.found_same(look.queue, look.memory, last)
                if last.snapshot.workers == counted:
                    yield last.snapshot
                    continue
            else:
                self._quiet.found_changed(look.queue)
            snapshot = _snapshot(look, replace(details, workers=counted), now_ms)
            self._last[look.queue] = LastTime(raw=look.raw, plan=plan, details=details, snapshot=snapshot)
            yield snapshot

    def _count_workers(self, listing: Reply, queues: Sequence[QueueId]) -> Mapping[QueueId, int] | None:
        if not isinstance(listing, bytes):
            return None
        if tuple(queues) != self._names.queues:
            self._names = WorkerNames(queues)
        return self._names.count(listing, self._database)

    def _may_list_clients(self, facts: RedisFacts | None) -> bool:
        """Workers are connected to a primary, and a list of very many connections costs more than it is worth."""
        if facts is None:
            return self._most_clients > 0
        return facts.role in ("master", "") and (facts.connected_clients or 0) <= self._most_clients


def _snapshot(look: FirstLook, details: Details, now_ms: int) -> QueueSnapshot:
    answers = look.answers
    problems = without_repetition((*queue_problems(look.queue, answers, look.refused), *details.problems))
    told = replace(details, problems=problems)
    return queue_snapshot(look.queue, answers, stream_facts(answers.events) or NO_STREAM, told, now_ms)


def _in_order(told: list[_Told], queues: Iterable[QueueId]) -> list[_Told]:
    """By the order of the queues, which is the same in every look."""
    places = {queue: place for place, queue in enumerate(queues)}
    return sorted(told, key=lambda each: places[each[0].queue])


def _is_redirection(reply: Reply) -> bool:
    return isinstance(reply, Fault) and reply.code in ("MOVED", "ASK")
