"""What one look says about the server as a whole: its clock, whether it serves us, and what it withholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.errors import RedisNotReady
from qobserve.model.info import parse_info
from qobserve.model.reply import Fault
from qobserve.model.snapshot import Problem
from qobserve.reader.connection import refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from qobserve.model.reply import Reply

_WHOLE_SERVER = {"LOADING", "MASTERDOWN", "CLUSTERDOWN", "NOAUTH"}


def server_problems(**replies: Reply) -> Iterator[Problem]:
    """A problem for each answer that is an error; the keywords are the collectors that it is wanted for."""
    for part, reply in replies.items():
        if isinstance(reply, Fault):
            yield Problem(part=part, queue=None, what=reply.message)


def clock(time: Reply, info: Reply, where: str) -> int:
    """The server's clock in ms, from TIME; where that is not allowed, from INFO."""
    if isinstance(time, Fault):
        micros = parse_info(info).get("server_time_usec", "") if isinstance(info, bytes) else ""
        if time.code != "NOPERM" or not micros.isdecimal():
            raise refusal(time, where)
        return int(micros) // 1000
    match time:
        case [bytes(seconds), bytes(rest)] if seconds.isdigit() and rest.isdigit():
            return int(seconds) * 1000 + int(rest) // 1000
        case _:
            raise RedisNotReady(f"{where} answered TIME in an unknown form")


def refuse_whole_server(info: Reply, faults: Sequence[Fault], answers: int, where: str) -> None:
    """Raise if the server serves no data at all: it is loading, cut off from its primary, or lets us read nothing.

    Args:
        info: The reply to INFO.
        faults: The errors among the answers about queues.
        answers: How many answers there were.
        where: The server.
    """
    if isinstance(info, bytes) and b"\nloading:1" in info:
        raise RedisNotReady(f"{where} cannot serve now: it is loading its data into memory")
    fatal = next((fault for fault in faults if fault.code in _WHOLE_SERVER), None)
    if fatal is not None:
        raise refusal(fatal, where)
    if faults and len(faults) == answers:
        raise refusal(faults[0], where)
