"""One run: servers of several sizes, everything that reads them, all measured in turns."""

from __future__ import annotations

import contextlib
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from contenders import exporter, own, read, reading
from dataset import SERVER_CONFIG, build, queue_name, stir
from discovery import delays
from floor import Floor, record
from report import Report, Row
from rig.servers import ServerOptions, running
from rounds import Contender, rounds
from targets import targets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contenders import Exporter, Own, Text
    from recorder import Trip
    from rig.servers import Server
    from rounds import Go

    from qobserve.reader.reader import Reader

_WARMUP_SCRAPES = 8
"""So many, for the reader asks the event streams of a part of the queues at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is about: how many queues with how many jobs each, on which kind of server, how often measured."""

    queues: int
    jobs: int
    repeats: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """A server with so many jobs in each queue, and what reads it."""

    jobs: int
    server: Server
    reader: Reader
    exporter: Exporter


async def measure(options: Options) -> Report:
    """Build, measure, and sum up."""
    async with contextlib.AsyncExitStack() as stack:
        sizes = [
            await _opened(stack, options, jobs) for jobs in dict.fromkeys((options.jobs, max(options.jobs // 10, 1), 1))
        ]
        big = sizes[0]
        trips = await record(big.server.port, [queue_name(index) for index in range(options.queues)])
        floor = Floor(big.server.port, trips)
        stack.callback(floor.close)
        node = stack.enter_context(own(big.server, options.queues))
        least, ours, theirs = _floor(big, floor, trips), _ours(big, options.queues, len(trips)), _theirs(big, node)
        still = [least, *ours, *theirs]
        for size in sizes[1:]:
            still += _ours(size, options.queues, len(trips))
        rows = await _rows(still, options)
        rows += await _rows([least, *_stirred(ours, options.queues), *theirs[:1]], options)
        found = delays(big.server, repeats=3 * options.repeats)
        rows += [
            Row(kind="resting", jobs=big.jobs, name="our scrape, no search for queues", figures=found.resting),
            Row(kind="searching", jobs=big.jobs, name="our scrape, search without a pause", figures=found.searching),
        ]
        title = f"{options.queues:,} queues, {options.queues * options.jobs:,} jobs, {options.kind}"
        facts = {**_memory(big), "SCAN calls beside scrapes": float(found.scans)}
        return Report(title=title, rows=rows, facts=facts, targets=targets(rows))


async def _rows(contenders: Sequence[Contender], options: Options) -> list[Row]:
    _say(f"measuring {len(contenders)} ways in turns")
    figures = await rounds(contenders, repeats=options.repeats, warmup=1)
    return [Row.of(contender, measured) for contender, measured in zip(contenders, figures, strict=True)]


def _stirred(contenders: Sequence[Contender], queues: int) -> list[Contender]:
    """The same where every queue has changed since the last go, so that nothing remembered of it saves work."""
    return [
        replace(
            each,
            kind=f"stirred {each.kind}",
            name=f"{each.name}, all changed",
            before=partial(stir, each.server, queues),
        )
        for each in contenders
    ]


async def _opened(stack: contextlib.AsyncExitStack, options: Options, jobs: int) -> Size:
    server = stack.enter_context(running(options.kind, ServerOptions(config=SERVER_CONFIG)))
    _say(f"building {options.queues:,} queues with {jobs:,} jobs each")
    build(server, queues=options.queues, jobs=jobs)
    reader = await stack.enter_async_context(reading(server))
    size = Size(jobs=jobs, server=server, reader=reader, exporter=stack.enter_context(exporter(server)))
    for _ in range(_WARMUP_SCRAPES):
        await read(reader, options.queues)
        size.exporter.scrape("plain")
    return size


def _floor(size: Size, floor: Floor, trips: Sequence[Trip]) -> Contender:
    sent = sum(len(trip.request) for trip in trips)
    return Contender(
        kind="floor",
        name="raw floor",
        jobs=size.jobs,
        server=size.server,
        go=_awaited(floor.go),
        trips=len(trips),
        weigh=lambda: (sent, None),
    )


def _ours(size: Size, queues: int, trips: int) -> list[Contender]:
    def ours(kind: str, name: str, go: Go, way: str = "") -> Contender:
        weight = partial(_weight, size.exporter.texts.get, way)
        return Contender(kind=kind, name=name, jobs=size.jobs, server=size.server, go=go, trips=trips, weigh=weight)

    def scrape(way: str) -> Go:
        return _awaited(partial(size.exporter.scrape, way))

    return [
        ours("read", "our read", partial(read, size.reader, queues)),
        ours("scrape", "our scrape", scrape("plain"), "plain"),
        ours("prometheus", "our scrape as Prometheus asks", scrape("prometheus"), "prometheus"),
    ]


def _theirs(size: Size, node: Own) -> list[Contender]:
    def theirs(kind: str, way: str) -> Contender:
        weight = partial(_weight, node.texts.get, way)
        go = _awaited(partial(node.export, way))
        return Contender(
            kind=kind, name=f"BullMQ's own, {way}", jobs=size.jobs, server=size.server, go=go, weigh=weight
        )

    return [theirs("own", "concurrently"), theirs("own in turn", "one by one")]


def _awaited(go: Callable[[], float]) -> Go:
    async def awaited() -> float:
        return go()

    return awaited


def _weight(text_of: Callable[[str], Text | None], way: str) -> tuple[int | None, int | None]:
    text = text_of(way)
    return (None, None) if text is None else (text.wire_bytes, text.series)


def _memory(size: Size) -> dict[str, float]:
    kib = size.exporter.memory_kib()
    return {f"exporter's {field}, MiB": value / 1024 for field, value in kib.items()}


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)
