"""What following the events costs: at full speed beside BullMQ's own listener, at rest, and in memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from full_speed import added, flood, following, listening, make_queues
from held import held_with_waiting
from idle import idle_share
from report import Report
from rig.servers import ServerOptions, running
from sizes import say
from targets import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from full_speed import Command, Flooded
    from held import Held
    from rig.servers import Server

_MOST_PERCENT_BUSY = 15.0
_MOST_PERCENT_IDLE = 2.0
_MOST_GROWTH = 1.1
_MOST_MIB = 200.0
_RATIO = "QueueEvents only calls what listens to it; the exporter counts, times, and reads the hash of each retried job"
_SHARE = "of the processor time of the flood's own Redis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is about.

    Attributes:
        jobs: Of each flood whose watchers are measured.
        more_jobs: Of the floods that come after one, each of as many jobs, to see whether memory grows: what one of
            them takes at its most is not given back to the system.
        waiting: How many jobs wait at the end.
        idle_queues: How many queues rest.
        idle_seconds: For how long that is watched.
        kind: Which kind of server.
    """

    jobs: int = 20_000
    more_jobs: int = 100_000
    waiting: int = 1_000_000
    idle_queues: int = 1_000
    idle_seconds: float = 20.0
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """Floods with nobody that watches, with the exporter, and with the exporter and BullMQ's listener.

    `before_kib` and `after_kib` are the exporter's memory after the one flood and after those that followed; `missed`
    is how many events it missed in all of them.
    """

    alone: Flooded
    followed: Flooded
    beside: Flooded
    before_kib: int
    after_kib: int
    missed: int


def follow(options: Options) -> Report:
    """Measure all of it, and sum up."""
    busy = _busy(options)
    say(f"watching an exporter of {options.idle_queues:,} idle queues for {options.idle_seconds:g} s")
    with running(options.kind, ServerOptions()) as server:
        idle = idle_share(server, queues=options.idle_queues, seconds=options.idle_seconds)
    say(f"writing {options.waiting:,} jobs that wait")
    with running(options.kind, ServerOptions()) as server:
        held = held_with_waiting(server, options.waiting)
    title = f"following {busy.followed.jobs:,} jobs as fast as BullMQ 6.7.0 goes, {options.kind}"
    facts = {**_speeds(busy), **_redis(busy), **_memory(busy, held, options)}
    return Report(title=title, rows=(), facts=facts, targets=list(_targets(busy, idle, held, options)))


def _busy(options: Options) -> Busy:
    with _site(options) as server:
        say(f"a flood of {options.jobs:,} jobs that nobody watches")
        alone = flood(server, options.jobs)
    with _site(options) as server, following(server) as watcher:
        say("the same, followed")
        followed = flood(server, options.jobs, watcher)
        before = watcher.exporter.memory_kib()["VmRSS"]
        say(f"{options.more_jobs:,} jobs more, as many at a time")
        for _ in range(options.more_jobs // options.jobs):
            flood(server, options.jobs, watcher)
        after = watcher.exporter.memory_kib()["VmRSS"]
        missed = watcher.exporter.totals()["bullmq_events_missed_total"]
    with _site(options) as server, following(server) as watcher, listening(server) as listener:
        say("the first again, followed, and listened to by BullMQ")
        beside = flood(server, options.jobs, watcher, listener)
    return Busy(alone=alone, followed=followed, beside=beside, before_kib=before, after_kib=after, missed=int(missed))


@contextmanager
def _site(options: Options) -> Iterator[Server]:
    with running(options.kind, ServerOptions()) as server:
        make_queues(server)
        yield server


def _speeds(busy: Busy) -> dict[str, float]:
    ours, theirs = busy.beside.cpu
    return {
        "jobs a second, not watched": busy.alone.jobs / busy.alone.seconds,
        "jobs a second, followed": busy.followed.jobs / busy.followed.seconds,
        "events a second, followed": busy.followed.events / busy.followed.seconds,
        "exporter's CPU per 10,000 events, ms": _per_events(busy.followed.cpu[0], busy.followed),
        "beside QueueEvents: exporter's CPU per 10,000 events, ms": _per_events(ours, busy.beside),
        "beside the exporter: QueueEvents' CPU per 10,000 events, ms": _per_events(theirs, busy.beside),
    }


def _redis(busy: Busy) -> dict[str, float]:
    extra = added(busy.alone, busy.followed)
    scripts = sum(busy.followed.commands[name].usec for name in ("evalsha", "eval") if name in busy.followed.commands)
    whole = scripts * 10_000 / busy.followed.jobs
    calls = {f"  {name}": float(command.calls) for name, command in sorted(extra.items(), key=_calls, reverse=True)}
    return {
        "Redis CPU per 10,000 jobs, that the exporter adds, ms": _usec(extra) / 1000,
        "Redis CPU per 10,000 jobs, of BullMQ's scripts, ms": whole / 1000,
        "commands per 10,000 jobs, that the exporter adds": float(sum(command.calls for command in extra.values())),
        **calls,
    }


def _memory(busy: Busy, held: Held, options: Options) -> dict[str, float]:
    return {
        f"exporter's memory after {options.jobs:,} jobs, MiB": busy.before_kib / 1024,
        f"exporter's memory after {options.more_jobs:,} more, MiB": busy.after_kib / 1024,
        f"exporter's memory with {options.waiting:,} waiting, at its most, MiB": held.most_kib / 1024,
        f"events missed while {options.waiting:,} jobs were written": float(held.missed),
    }


def _targets(busy: Busy, idle: float, held: Held, options: Options) -> Iterator[Target]:
    ours, theirs = busy.beside.cpu
    share = 100 * busy.followed.cpu[0] / busy.followed.seconds
    yield Target(name="exporter at full speed, % of a core", value=share, limit=_MOST_PERCENT_BUSY)
    yield Target(name="exporter / QueueEvents, CPU for the same events", value=ours / theirs, limit=None, why=_RATIO)
    yield Target(
        name=f"exporter with {options.idle_queues:,} idle queues, % of a core",
        value=100 * idle,
        limit=_MOST_PERCENT_IDLE,
    )
    yield Target(
        name=f"exporter's memory after {options.more_jobs:,} more jobs / before",
        value=busy.after_kib / busy.before_kib,
        limit=_MOST_GROWTH,
    )
    yield Target(
        name=f"exporter's memory with {options.waiting:,} jobs waiting, MiB", value=held.kib / 1024, limit=_MOST_MIB
    )
    yield Target(name="events missed at full speed", value=float(busy.missed), limit=0.0)


def _per_events(seconds: float, flooded: Flooded) -> float:
    return seconds * 1000 * 10_000 / flooded.events


def _usec(commands: Mapping[str, Command]) -> int:
    return sum(command.usec for command in commands.values())


def _calls(item: tuple[str, Command]) -> int:
    return item[1].calls
