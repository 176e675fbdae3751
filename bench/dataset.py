"""The queues that are read: one is made by BullMQ itself, the others are copies of it under other names."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import hiredis
from rig.programs import missing

if TYPE_CHECKING:
    import redis
    from rig.servers import Server

SERVER_CONFIG = ("rdbcompression no",)
"""DUMP packs nothing then, which makes the copies cheaper."""

_TEMPLATE = Path(__file__).with_name("template.mjs")
_NODE_SECONDS = 60
_SCHEDULERS = 2
_SHARES = {"prioritized": 0.1, "delayed": 0.048, "active": 0.002, "completed": 0.1, "failed": 0.048}

LEAST_IN_ALL_STATES = 20
"""With fewer jobs than this, a queue cannot have some in each state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What each queue of a server holds.

    Attributes:
        jobs: How many jobs.
        waiting: Whether all of them wait; otherwise there are some in each state.
        once_waiting: How many waited at once before the surplus was removed; 0 where none was.
    """

    jobs: int
    waiting: bool = False
    once_waiting: int = 0

    def __str__(self) -> str:
        return f"{self.jobs:,} a queue{self.states}"

    @property
    def states(self) -> str:
        """The end of a phrase about it."""
        return ", all waiting" if self.waiting else " in all states"

    def counts(self) -> dict[str, int]:
        """How many jobs are in which state; the next jobs of the schedulers are further ones in `delayed`."""
        if self.waiting:
            return {"waiting": self.jobs, **dict.fromkeys(_SHARES, 0)}
        others = {state: max(round(self.jobs * share), 1) for state, share in _SHARES.items()}
        return {"waiting": self.jobs - _SCHEDULERS - sum(others.values()), **others}


def queue_name(index: int) -> str:
    """The name of a queue; all are equally long, and found nowhere but in keys."""
    return f"bench-{index:05d}"


def build(server: Server, *, queues: int, filling: Filling) -> int:
    """Fill an empty server; the number of keys that it holds then."""
    _make_template(server, filling)
    with server.client(socket_timeout=60) as client:
        packed, keys = _packed(client)
        name = queue_name(0).encode()
        for index in range(1, queues):
            _restore(client, packed.replace(name, queue_name(index).encode()), keys)
        held: int = client.dbsize()
    if held != queues * keys:
        raise RuntimeError(f"{held} keys where {queues} copies of {keys} were expected")
    return held


def stir(server: Server, queues: int) -> None:
    """Let every queue look different: its next job becomes its last one."""
    with server.client(socket_timeout=60) as client, client.pipeline(transaction=False) as pipe:
        for index in range(queues):
            wait = f"bull:{queue_name(index)}:wait"
            pipe.lmove(wait, wait, "RIGHT", "LEFT")
        pipe.execute()


def _make_template(server: Server, filling: Filling) -> None:
    counts = filling.counts()
    node = shutil.which("node")
    if node is None:
        missing("no node on PATH: it runs BullMQ's own library")
    words = (server.port, queue_name(0), json.dumps(counts), filling.once_waiting)
    argv = [node, str(_TEMPLATE), *map(str, words)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_NODE_SECONDS, check=False)
    if done.returncode:
        raise RuntimeError(f"BullMQ could not make the queue (`npm ci --ignore-scripts` done?): {done.stderr}")
    expected = {**counts, "delayed": counts["delayed"] + _SCHEDULERS, "waiting-children": 0}
    if json.loads(done.stdout) != expected:
        raise RuntimeError(f"BullMQ counts {done.stdout} where {expected} were expected")


def _packed(client: redis.Redis) -> tuple[bytes, int]:
    """The commands that restore the queue, and how many there are.

    A dump ends in a checksum: should a value hold the queue's name, its copy under another name would be refused.
    """
    keys = list(client.scan_iter(count=1000))
    with client.pipeline(transaction=False) as pipe:
        for key in keys:
            pipe.dump(key)
            pipe.pttl(key)
        replies = pipe.execute()
    commands = [
        hiredis.pack_command((b"RESTORE", key, max(ttl, 0), dump))  # type: ignore[arg-type]  # its stub means any length
        for key, dump, ttl in zip(keys, replies[::2], replies[1::2], strict=True)
    ]
    return b"".join(commands), len(keys)


def _restore(client: redis.Redis, packed: bytes, keys: int) -> None:
    connection = client.connection_pool.get_connection()
    try:
        connection.send_packed_command([packed])  # type: ignore[no-untyped-call]  # untyped in redis-py
        for _ in range(keys):
            connection.read_response()
    finally:
        client.connection_pool.release(connection)
