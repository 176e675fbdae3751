"""Measures things against each other: round robin, so that what else the machine does hits all of them alike."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from dataset import Filling
    from rig.servers import Server

    Go: TypeAlias = Callable[[], Coroutine[None, None, float]]

_SCRIPTS = ("evalsha", "eval")
_PERCENTILE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Something that is measured.

    Attributes:
        kind: What it is, in one word.
        name: What it is, for people.
        filling: What each queue holds that it reads.
        server: The server that it reads.
        go: Does it once, and tells how many seconds that took.
        before: Done before each go, and neither timed nor counted.
        trips: Round trips that it needs; None where they overlap.
        weigh: Bytes that it moved and series that it printed when it last went; None for what it does not do.
    """

    kind: str
    name: str
    filling: Filling
    server: Server
    go: Go
    before: Callable[[], None] = lambda: None
    trips: int | None = None
    weigh: Callable[[], tuple[int | None, int | None]] = lambda: (None, None)


@dataclass(slots=True)
class Figures:
    """What the rounds told of one contender: seconds, and what its server says it did for it, each time."""

    seconds: list[float] = field(default_factory=list)
    redis_us: list[int] = field(default_factory=list)
    redis_commands: list[int] = field(default_factory=list)

    @property
    def median(self) -> float:
        """Median seconds."""
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        """Fewest seconds."""
        return min(self.seconds)

    @property
    def p95(self) -> float:
        """The 95th percentile of the seconds, by nearest rank."""
        ordered = sorted(self.seconds)
        return ordered[min(int(len(ordered) * _PERCENTILE), len(ordered) - 1)]

    @property
    def redis_ms(self) -> float:
        """Median of the milliseconds that Redis spent in commands."""
        return statistics.median(self.redis_us) / 1000

    @property
    def commands(self) -> float:
        """Median of the number of commands that clients sent."""
        return statistics.median(self.redis_commands)

    def as_json(self) -> dict[str, float | list[float]]:
        """Everything."""
        return {
            "n": len(self.seconds),
            "median_seconds": self.median,
            "min_seconds": self.least,
            "p95_seconds": self.p95,
            "redis_cpu_ms": self.redis_ms,
            "commands": self.commands,
            "seconds": self.seconds,
        }


async def rounds(contenders: Sequence[Contender], *, repeats: int, warmup: int) -> list[Figures]:
    """Let each go once, then each again, and so on; figures in the order given, without the first `warmup` rounds."""
    figures = [Figures() for _ in contenders]
    for number in range(warmup + repeats):
        for contender, of in zip(contenders, figures, strict=True):
            seconds, commands, usec = await _observed(contender)
            if number >= warmup:
                of.seconds.append(seconds)
                of.redis_commands.append(commands)
                of.redis_us.append(usec)
    return figures


async def _observed(contender: Contender) -> tuple[float, int, int]:
    contender.before()
    with contender.server.client() as client:
        client.config_resetstat()
        seconds = await contender.go()
        return seconds, *spent(client.info("commandstats"))


def spent(commandstats: Mapping[str, Mapping[str, int]]) -> tuple[int, int]:
    """Commands that clients sent, and the microseconds that they took.

    Redis counts what a script calls as itself and once more in the script: where there are scripts, only they count.
    XREAD takes time, but is not in the number: an exporter asks it several times a second, whoever scrapes.
    """
    rows = {name.removeprefix("cmdstat_"): row for name, row in commandstats.items()}
    for reset in ("config|resetstat", "config"):  # the latter before Redis 7
        rows.pop(reset, None)
    counted = {name: row for name, row in rows.items() if name in _SCRIPTS} or rows
    calls = sum(row["calls"] for name, row in counted.items() if name != "xread")
    return calls, sum(row["usec"] for row in counted.values())
