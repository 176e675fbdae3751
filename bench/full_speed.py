"""Floods of jobs as fast as BullMQ goes, and what those that hear of every event spend on them."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from contenders import exporter
from rig.child import Child, wait_until
from rig.flood import FloodOptions, flood_over, flooding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import redis
    from contenders import Exporter
    from rig.servers import Server

QUEUES = FloodOptions().queues
_WARM_JOBS = 100
_LISTENER = Path(__file__).with_name("listener.mjs")
_LEDGER_SECONDS = 3600.0
_CATCH_UP_SECONDS = 30.0
_POLL_SECONDS = 0.3
_SEARCH = "10s"


class Watcher(Protocol):
    """Something that hears of every event."""

    counts: str
    """What it can say how many it has heard of: `events`, or `jobs` that have ended."""

    def heard(self) -> int:
        """How many so far."""

    def cpu_seconds(self) -> float:
        """Processor time so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How often a command was called, by clients and scripts, and the microseconds that it took."""

    calls: int
    usec: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flooded:
    """A flood that is over.

    Attributes:
        jobs: How many jobs.
        seconds: How long it took.
        events: How many events were written.
        commands: What Redis did for all meanwhile.
        cpu: Processor seconds of each watcher, until it had heard of everything.
    """

    jobs: int
    seconds: float
    events: int
    commands: Mapping[str, Command]
    cpu: Sequence[float]


class Following:
    """The exporter as a watcher."""

    counts = "jobs"

    def __init__(self, running: Exporter) -> None:
        self.exporter = running
        self.cpu_seconds = running.cpu_seconds
        running.totals()  # for the first time, which shows 0 whatever has happened

    def heard(self) -> int:
        """As `Watcher.heard`."""
        totals = self.exporter.totals()
        return int(totals["bullmq_jobs_completed_total"] + totals["bullmq_jobs_failed_total"])


class Listener:
    """BullMQ's own `QueueEvents` as a watcher, in a process of its own."""

    counts = "events"

    def __init__(self, child: Child) -> None:
        self._child = child
        self._ask(json.dumps(QUEUES))

    def heard(self) -> int:
        """As `Watcher.heard`."""
        return int(self._ask("?")["events"])

    def cpu_seconds(self) -> float:
        """As `Watcher.cpu_seconds`."""
        return self._ask("?")["cpuSeconds"]

    def _ask(self, line: str) -> dict[str, float]:
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()
        answer = self._child.stdout.readline()
        if not answer:
            raise RuntimeError(f"BullMQ's listener ended: {self._child.log()}")
        told: dict[str, float] = json.loads(answer)
        return told


def make_queues(server: Server) -> None:
    """Let the queues of a flood be there, so that those that are to watch it can find them."""
    flood_over(server, FloodOptions(jobs=_WARM_JOBS))


@contextlib.contextmanager
def following(server: Server) -> Iterator[Following]:
    """An exporter that has found the queues, and searches for others as often as it does by default."""
    with exporter(server, interval=_SEARCH) as running:
        yield Following(running)


@contextlib.contextmanager
def listening(server: Server) -> Iterator[Listener]:
    """BullMQ's own listener on the queues."""
    child = Child(["node", str(_LISTENER), str(server.port)], cwd=_LISTENER.parent, piped=True)
    try:
        yield Listener(child)
    finally:
        child.kill()


def flood(server: Server, jobs: int, *watchers: Watcher) -> Flooded:
    """One flood over queues that are there, and all that its watchers do until they have heard of it.

    Raises:
        RigTimeoutError: One of them did not hear of everything.
        RuntimeError: BullMQ reported errors.
    """
    with flooding("node-6.7.0", server, FloodOptions(jobs=jobs)) as running, server.client() as client:
        heard = [watcher.heard() for watcher in watchers]
        spent = [watcher.cpu_seconds() for watcher in watchers]
        written = _written(client)
        client.config_resetstat()
        running.go()
        ledger = running.ledger(timeout=_LEDGER_SECONDS)
        commands = _commands(client)
        totals = {"jobs": jobs, "events": _written(client) - written}
        if ledger.errors:
            raise RuntimeError(f"the flood went wrong: {ledger.errors[0]}")
        for watcher, before in zip(watchers, heard, strict=True):
            _await(watcher, before + totals[watcher.counts])
        cpu = [watcher.cpu_seconds() - before for watcher, before in zip(watchers, spent, strict=True)]
    return Flooded(jobs=jobs, seconds=ledger.seconds, events=totals["events"], commands=commands, cpu=cpu)


def added(alone: Flooded, watched: Flooded) -> dict[str, Command]:
    """What a watcher added to the commands of a flood, per 10,000 jobs.

    BullMQ calls each command as often in any flood of as many jobs, but for a few calls of workers that find nothing to
    do. The time of commands that both call is divided by the number of calls.
    """
    nothing = Command(calls=0, usec=0)
    found: dict[str, Command] = {}
    for name, command in watched.commands.items():
        calls = command.calls - alone.commands.get(name, nothing).calls
        if calls > 0:
            scale = 10_000 / watched.jobs
            usec = command.usec * calls / command.calls
            found[name] = Command(calls=round(calls * scale), usec=round(usec * scale))
    return found


def _await(watcher: Watcher, count: int) -> None:
    what = f"{count} {watcher.counts} to be heard of"
    wait_until(lambda: watcher.heard() >= count, what, timeout=_CATCH_UP_SECONDS, poll=_POLL_SECONDS)


def _written(client: redis.Redis) -> int:
    """Events ever written; a server before Redis 7 does not know."""
    return sum(client.xinfo_stream(f"bull:{queue}:events")["entries-added"] for queue in QUEUES)


def _commands(client: redis.Redis) -> dict[str, Command]:
    stats = client.info("commandstats")
    rows = {name.removeprefix("cmdstat_"): row for name, row in stats.items()}
    return {name: Command(calls=row["calls"], usec=row["usec"]) for name, row in rows.items() if "config" not in name}
