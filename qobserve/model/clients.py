"""CLIENT LIST: how many workers serve each queue.

A Node.js worker names its blocking connection only, so a name is a worker. A Python worker gives one name to all its
connections, one of them to block, and either kind may be gone for a moment. Source: docs/bullmq-format.md#workers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from qobserve.model.keys import node_client_name, python_client_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from qobserve.model.keys import QueueId

_WORKER_NAME = b":w:"
_BLOCKING = (b"bzpopmin", b"brpoplpush")
_OPENING = (b"client", b"hello", b"info")


class WorkerNames:
    """The names under which workers of these queues connect; worth keeping as long as the queues are the same."""

    def __init__(self, queues: Iterable[QueueId]) -> None:
        self.queues = tuple(queues)
        self._node = {node_client_name(other): queue for queue in self.queues for other in queue.readings()}
        self._node |= {node_client_name(queue): queue for queue in self.queues}
        self._python = {python_client_name(queue): queue for queue in self.queues}

    def count(self, listing: bytes, database: int) -> Counter[QueueId]:
        """Workers by queue; `listing` is the reply to CLIENT LIST, and only connections to `database` count."""
        workers: Counter[QueueId] = Counter()
        resting: Counter[bytes] = Counter()
        blocking: Counter[bytes] = Counter()
        for name, command in _named(listing, b" db=%d " % database):
            if (base := _base(name, self._node)) is not None:
                workers[self._node[base]] += 1
            elif _base(name, self._python) is not None:
                kind = blocking if command in _BLOCKING or command.startswith(_OPENING) else resting
                kind[name] += 1
        for name in resting.keys() | blocking.keys():
            if (base := _base(name, self._python)) is not None:
                workers[self._python[base]] += max(resting[name], blocking[name])
        return workers


def _base(name: bytes, known: Mapping[bytes, QueueId]) -> bytes | None:
    """The known name that a connection's begins with, before the worker's own name (either may hold `:w:` itself)."""
    end = len(name)
    while end >= 0:
        if name[:end] in known:
            return name[:end]
        end = name.rfind(_WORKER_NAME, 0, end)
    return None


def _named(listing: bytes, database: bytes) -> Iterator[tuple[bytes, bytes]]:
    for line in listing.splitlines():
        name = _field(line, b" name=")
        if name and database in line:
            yield name, _field(line, b" cmd=")


def _field(line: bytes, mark: bytes) -> bytes:
    start = line.find(mark)
    if start < 0:
        return b""
    return line[start + len(mark) :].partition(b" ")[0]
