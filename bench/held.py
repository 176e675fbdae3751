"""Jobs that wait by the hundred thousand, written past an exporter that follows, and the memory that it holds then."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import hiredis
from full_speed import QUEUES, following, make_queues
from rig.child import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis
    from rig.servers import Server

_AT_ONCE = 1_000
_MOST_A_SECOND = 10_000
_CATCH_UP_SECONDS = 60.0
_LIMIT = b"10000"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What an exporter holds (KiB) once it has heard of all jobs, and how many events it missed."""

    kib: int
    most_kib: int
    missed: int


def held_with_waiting(server: Server, jobs: int) -> Held:
    """Write so many jobs that wait, and look at an exporter that has heard of them."""
    make_queues(server)
    with following(server) as watcher, server.client(socket_timeout=60) as client:
        before = watcher.exporter.totals()["bullmq_jobs_added_total"]
        _write(client, jobs)
        heard = lambda: watcher.exporter.totals()["bullmq_jobs_added_total"] - before >= jobs  # noqa: E731 - one expression
        wait_until(heard, "all jobs to be heard of", timeout=_CATCH_UP_SECONDS, poll=0.3)
        totals, kib = watcher.exporter.totals(), watcher.exporter.memory_kib()
        if totals["bullmq_queue_jobs"] < jobs:
            raise RuntimeError(f"{totals['bullmq_queue_jobs']:.0f} jobs are shown where {jobs} wait")
    return Held(kib=kib["VmRSS"], most_kib=kib["VmHWM"], missed=int(totals["bullmq_events_missed_total"]))


def _write(client: redis.Redis, jobs: int) -> None:
    """Add jobs as BullMQ does, evenly over the queues, and no faster than it could."""
    began = time.monotonic()
    for first in range(0, jobs, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, jobs))
        commands = [command for number in numbers for command in _added(number, time.time_ns() // 1_000_000)]
        _send(client, commands)
        time.sleep(max(began + numbers.stop / _MOST_A_SECOND - time.monotonic(), 0))


def _added(number: int, now_ms: int) -> Iterator[bytes]:
    """The commands that add one job."""
    base, job = f"bull:{QUEUES[number % len(QUEUES)]}:".encode(), b"w%d" % number
    fields = (b"name", b"send", b"data", b'{"to":"user@example.org"}', b"opts", b'{"attempts":3}')
    moments = (b"timestamp", b"%d" % now_ms, b"delay", b"0", b"priority", b"0")
    stream = base + b"events"
    yield hiredis.pack_command((b"INCR", base + b"id"))
    yield hiredis.pack_command((b"HSET", base + job, *fields, *moments))  # type: ignore[arg-type]  # its stub means any length
    yield hiredis.pack_command((b"XADD", stream, b"*", b"event", b"added", b"jobId", job, b"name", b"send"))  # type: ignore[arg-type]  # likewise
    yield hiredis.pack_command((b"LPUSH", base + b"wait", job))
    limited = (b"XADD", stream, b"MAXLEN", b"~", _LIMIT, b"*")
    yield hiredis.pack_command((*limited, b"event", b"waiting", b"jobId", job))  # type: ignore[arg-type]  # likewise


def _send(client: redis.Redis, commands: list[bytes]) -> None:
    connection = client.connection_pool.get_connection()
    try:
        connection.send_packed_command([b"".join(commands)])  # type: ignore[no-untyped-call]  # untyped in redis-py
        for _ in commands:
            connection.read_response()
    finally:
        client.connection_pool.release(connection)
