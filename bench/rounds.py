"""Measures things against each other: round robin, so that what else the machine does hits all of them alike."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from rig.servers import Server

_CALLS = re.compile(r"^cmdstat_(?P<name>[^:]+):calls=(?P<calls>\d+),usec=(?P<usec>\d+)", re.MULTILINE)
_SCRIPTS = {"evalsha", "eval"}
_PERCENTILE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """Something that is measured: `go` does it once and tells how many seconds it took."""

    name: str
    server: Server
    go: Callable[[], Coroutine[None, None, float]]


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


async def rounds(contenders: Sequence[Contender], *, repeats: int, warmup: int) -> dict[str, Figures]:
    """Let each go once, then each again, and so on; the first `warmup` rounds do not count."""
    figures = {contender.name: Figures() for contender in contenders}
    for number in range(warmup + repeats):
        for contender in contenders:
            seconds, commands, usec = await _observed(contender)
            if number >= warmup:
                of = figures[contender.name]
                of.seconds.append(seconds)
                of.redis_commands.append(commands)
                of.redis_us.append(usec)
    return figures


async def _observed(contender: Contender) -> tuple[float, int, int]:
    with contender.server.client() as client:
        client.execute_command("CONFIG", "RESETSTAT")
        seconds = await contender.go()
        return seconds, *spent(str(client.execute_command("INFO", "commandstats", NEVER_DECODE=True), "ascii"))


def spent(commandstats: str) -> tuple[int, int]:
    """Commands that clients sent, and the microseconds that they took.

    Redis counts what a script calls once as itself and once more in the script: where there are scripts, only they count.
    """
    rows = {row["name"]: (int(row["calls"]), int(row["usec"])) for row in _CALLS.finditer(commandstats)}
    rows.pop("config|resetstat", None)
    scripts = [row for name, row in rows.items() if name in _SCRIPTS]
    counted = scripts or list(rows.values())
    return sum(calls for calls, _ in counted), sum(usec for _, usec in counted)
