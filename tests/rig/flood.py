"""A full-speed workload with a ledger of its own: what its workers know, against what was read from Redis.

The programs are chaos/worker/flood.mjs and flood.py; the first describes flags and ledger at its head.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rig.child import Child, RigTimeoutError
from rig.drivers import DEFAULT_DRIVER, FOLDER, version_of
from rig.ledger import ledger_of
from rig.programs import missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.drivers import Version
    from rig.ledger import Ledger
    from rig.servers import Server

_READY_SECONDS = 30.0
_LEDGER_SECONDS = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FloodOptions:
    """What a flood does.

    Where the loop of the workers is saturated, a moment that a worker writes and the event of the same step are some
    milliseconds apart: 1 % of the processing time in Node.js, 15 % in Python. With `sleep_ms=20` and one worker of
    concurrency 2 a queue it is 1 % in Python, too.

    Attributes:
        jobs: How many jobs, over all queues.
        queues: The names of the queues.
        workers: How many each queue has; with 0 jobs are only added.
        concurrency: How many jobs a worker runs at a time.
        sleep_ms: How long a job runs.
        attempts: How often a job may run.
        backoff_ms: How long a job waits before it runs again.
        fail_once_every: Each so manieth job of a queue fails at its first attempt; 0 for none.
        fail_always_every: Each so manieth job of a queue fails at every attempt; 0 for none.
        stall_every: Each so manieth job of a queue hangs at its first run until it is found stalled, which takes 4 s
            and one of its queue's `workers` x `concurrency` places for good; 0 for none.
        remove: What BullMQ removes when it ends: `nothing`, `completed`, `all`.
        metrics: Whether the workers keep BullMQ's own metrics.
        runs: Whether the ledger lists every run.
        prefix: The prefix of the queues.
    """

    jobs: int = 20_000
    queues: tuple[str, ...] = ("flood-1", "flood-2", "flood-3", "flood-4")
    workers: int = 2
    concurrency: int = 10
    sleep_ms: int = 0
    attempts: int = 2
    backoff_ms: int = 0
    fail_once_every: int = 10
    fail_always_every: int = 50
    stall_every: int = 0
    remove: str = "completed"
    metrics: bool = False
    runs: bool = False
    prefix: str = "bull"

    @property
    def flags(self) -> list[str]:
        """The same on the program's command line."""
        numbers = {
            "jobs": self.jobs,
            "workers": self.workers,
            "concurrency": self.concurrency,
            "sleep": self.sleep_ms,
            "attempts": self.attempts,
            "backoff": self.backoff_ms,
            "fail-once": self.fail_once_every,
            "fail-always": self.fail_always_every,
            "stall": self.stall_every,
        }
        switches = {"metrics": self.metrics, "runs": self.runs, "wait": True}
        words = [f"--{name}={number}" for name, number in numbers.items()]
        words += [f"--queues={','.join(self.queues)}", f"--remove={self.remove}"]
        return words + [f"--{name}" for name, on in switches.items() if on]


class Flood:
    """One flood whose queues can be found already, and which has yet to begin."""

    def __init__(self, name: str, server: Server, options: FloodOptions) -> None:
        self.name = name
        environment = {**os.environ, "QOBSERVE_REDIS_URL": server.url, "QOBSERVE_PREFIX": options.prefix}
        argv = [*_program(version_of(name)), *options.flags]
        self.child = Child(argv, cwd=FOLDER, env=environment, piped=True)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def go(self) -> None:
        """Let the jobs come."""
        self.child.stdin.write("\n")
        self.child.stdin.flush()

    def ready(self) -> None:
        """Wait until the queues can be found and the workers are ready."""
        self._answer("ready", _READY_SECONDS)

    def ledger(self, *, timeout: float = _LEDGER_SECONDS) -> Ledger:
        """Wait until all jobs have ended and the workers are closed.

        Raises:
            RigTimeoutError: It took longer, or the flood died.
        """
        return ledger_of(self._answer("ledger", timeout))

    def kill(self) -> None:
        """Crash it (SIGKILL), if it still runs."""
        self.child.signal(9)
        self._reader.join()
        self.child.kill()

    def _answer(self, key: str, timeout: float) -> object:
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty as exc:
            raise RigTimeoutError(f"flood {self.name}: no {key} in {timeout:g} s\n{self.child.log()}") from exc
        if line is None:
            raise RigTimeoutError(f"flood {self.name}: it died before it was {key}\n{self.child.log()}")
        return json.loads(line)[key]

    def _read(self) -> None:
        for line in self.child.stdout:
            self._lines.put(line)
        self._lines.put(None)


@contextlib.contextmanager
def flooding(name: str, server: Server, options: FloodOptions) -> Iterator[Flood]:
    """A flood that waits for `go`, for the length of a `with` block; what it needs and is not there skips the test.

    Args:
        name: A driver's name, such as `node-6.7.0` or `python-3.4.4`.
        server: Where its queues are.
        options: What it does.
    """
    flood = Flood(name, server, options)
    try:
        flood.ready()
        yield flood
    finally:
        flood.kill()


def flood_over(server: Server, options: FloodOptions, name: str = DEFAULT_DRIVER) -> Ledger:
    """A whole flood, from its first job to its ledger."""
    with flooding(name, server, options) as flood:
        flood.go()
        return flood.ledger()


def _program(version: Version) -> list[str]:
    if version.language == "python":
        return [sys.executable, str(FOLDER / "flood.py")]
    node = shutil.which("node")
    if node is None:
        missing("no node on PATH: it runs BullMQ's own library")
    if not (FOLDER / "node_modules" / f"bullmq-{version.number}").is_dir():
        missing(f"no BullMQ {version.number} for Node.js: run `npm ci --ignore-scripts` in chaos/worker")
    return [node, str(FOLDER / "flood.mjs"), f"--bullmq={version.number}"]
