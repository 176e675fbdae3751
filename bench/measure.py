"""One run: servers of several sizes, everything that reads them, all measured in turns."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from contenders import own, read
from dataset import stir
from discovery import delays
from floor import Floor
from report import Report, Row
from rounds import Contender, rounds
from sizes import fillings, opened, say
from targets import targets

from qobserve.reader.quiet import QUIET_LOOKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contenders import Own, Text
    from rounds import Go
    from sizes import Size

_MORE = 3
"""So many times as often is measured what is quick, and to be told apart by 15 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run is about: how many queues with how many jobs each, on which kind of server, how often measured."""

    queues: int
    jobs: int
    repeats: int
    kind: str


async def measure(options: Options) -> Report:
    """Build, measure, and sum up."""
    async with contextlib.AsyncExitStack() as stack:
        mixed, waiting = fillings(options.jobs)
        sizes = [
            await opened(stack, filling, queues=options.queues, kind=options.kind) for filling in (*mixed, *waiting)
        ]
        big, lesser, *waiting_sizes = sizes
        floor = Floor(big.server.port, big.trips)
        stack.callback(floor.close)
        node = stack.enter_context(own(big.server, options.queues))
        least, ours, theirs = _floor(big, floor), _ours(big, options.queues), _theirs(big, node)
        rows = await _rows([least, *ours, *theirs, *_ours(lesser, options.queues)], options.repeats)
        both = zip(*(_ours(size, options.queues) for size in waiting_sizes), strict=True)
        rows += await _rows([each for pair in both for each in pair], _MORE * options.repeats)
        rows += await _rows([least, *_stirred(ours, options.queues), *theirs[:1]], options.repeats)
        found = delays(big.server, repeats=_MORE * options.repeats)
        rows += [
            Row(kind="resting", filling=big.filling, name="our scrape, no search for queues", figures=found.resting),
            Row(
                kind="searching",
                filling=big.filling,
                name="our scrape, search without a pause",
                figures=found.searching,
            ),
        ]
        title = f"{options.queues:,} queues, at most {options.queues * options.jobs:,} jobs, {options.kind}"
        facts = {**_memory(big), "SCAN calls beside scrapes": float(found.scans)}
        return Report(title=title, rows=rows, facts=facts, targets=targets(rows))


async def _rows(contenders: Sequence[Contender], repeats: int) -> list[Row]:
    say(f"measuring {len(contenders)} ways in turns")
    figures = await rounds(contenders, repeats=repeats, warmup=QUIET_LOOKS + 1)
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


def _floor(size: Size, floor: Floor) -> Contender:
    sent = sum(len(trip.request) for trip in size.trips)
    return Contender(
        kind="floor",
        name="raw floor",
        filling=size.filling,
        server=size.server,
        go=_awaited(floor.go),
        trips=len(size.trips),
        weigh=lambda: (sent, None),
    )


def _ours(size: Size, queues: int) -> list[Contender]:
    def ours(kind: str, name: str, go: Go, way: str = "") -> Contender:
        weight = partial(_weight, size.exporter.texts.get, way)
        return Contender(
            kind=kind,
            name=name,
            filling=size.filling,
            server=size.server,
            go=go,
            trips=len(size.trips),
            weigh=weight,
        )

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
            kind=kind, name=f"BullMQ's own, {way}", filling=size.filling, server=size.server, go=go, weigh=weight
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
