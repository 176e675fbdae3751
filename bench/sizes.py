"""Servers filled differently, each with what reads it: what a scrape costs must not depend on how full they are."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contenders import exporter, read, reading
from dataset import LEAST_IN_ALL_STATES, SERVER_CONFIG, Filling, build, queue_name
from floor import record
from rig.servers import ServerOptions, running

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Sequence

    from contenders import Exporter
    from rig.recorder import Trip
    from rig.servers import Server

    from qobserve.reader.reader import Reader

_WARMUP_SCRAPES = 8
"""So many, for the reader asks the event streams of a part of the queues at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A server whose queues are filled so, what reads it, and the round trips which that takes."""

    filling: Filling
    server: Server
    reader: Reader
    exporter: Exporter
    trips: Sequence[Trip]


def fillings(jobs: int) -> tuple[tuple[Filling, Filling], tuple[Filling, Filling]]:
    """Two pairs of many and few jobs a queue: some in all states, and all waiting.

    A pair differs in nothing but the number of jobs. One job cannot be in all states, hence the second pair.
    """
    few = max(jobs // 10, LEAST_IN_ALL_STATES)
    mixed = Filling(jobs=jobs), Filling(jobs=few)
    return mixed, (Filling(jobs=jobs, waiting=True), Filling(jobs=1, waiting=True, once_waiting=jobs))


async def opened(stack: contextlib.AsyncExitStack, filling: Filling, *, queues: int, kind: str) -> Size:
    """Start a server, fill it, and let everything that reads it learn what it remembers."""
    server = stack.enter_context(running(kind, ServerOptions(config=SERVER_CONFIG)))
    say(f"building {queues:,} queues: {filling}")
    build(server, queues=queues, filling=filling)
    trips = await record(server.port, [queue_name(index) for index in range(queues)])
    reader = await stack.enter_async_context(reading(server))
    running_exporter = stack.enter_context(exporter(server))
    for _ in range(_WARMUP_SCRAPES):
        await read(reader, queues)
        running_exporter.scrape("plain")
    return Size(filling=filling, server=server, reader=reader, exporter=running_exporter, trips=trips)


def say(what: str) -> None:
    """Tell how far the run is, beside its result."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)
