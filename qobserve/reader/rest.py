"""Second round trip, what the windows leave open: lengths of lists that fill them, and a limiter that runs.

Most queues have nothing of it, so that asking later is cheaper than asking always.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.reader.connection import pack
from qobserve.reader.questions import ACTIVE_WINDOW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Answers
    from qobserve.model.reply import Reply
    from qobserve.reader.questions import Windows

_NO_KEY = -2


def rest_commands(queue: QueueId, answers: Answers, windows: Windows, ended_score: bytes | None) -> dict[str, bytes]:
    """The commands, by the names of `model.reading.Rest`; schedulers up to `ended_score` are not in the window."""
    skips = ended_score is not None
    commands = {name: pack(verb, queue.key(key)) for name, verb, key in _open(answers, windows, skips=skips)}
    if ended_score is not None:
        commands["schedulers_skipped"] = pack(b"ZCOUNT", queue.key(b"repeat"), b"-inf", ended_score)
    return commands


def _open(answers: Answers, windows: Windows, *, skips: bool) -> Iterator[tuple[str, bytes, bytes]]:
    if _fills(answers.paused_tail, windows.jobs):
        yield "paused_length", b"LLEN", b"paused"
    if _fills(answers.active_tail, ACTIVE_WINDOW):
        yield "active_length", b"LLEN", b"active"
    if skips or _fills(answers.schedulers_first, 2 * windows.schedulers):
        yield "schedulers_length", b"ZCARD", b"repeat"
    if isinstance(answers.limiter_ttl, int) and answers.limiter_ttl != _NO_KEY:
        yield "limiter", b"GET", b"limiter"


def _fills(window: Reply, size: int) -> bool:
    return isinstance(window, list) and len(window) >= size
