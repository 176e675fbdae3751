"""Real BullMQ, any version, as a child process that applies operations (the protocol: chaos/worker/driver.mjs)."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rig.child import Child, RigTimeoutError
from rig.programs import missing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rig.servers import Server

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Answer: TypeAlias = "dict[str, Json]"

FOLDER = Path(__file__).parents[2] / "chaos" / "worker"
DRIVERS = ("node-3.16.2", "node-4.18.3", "node-5.81.5", "node-6.7.0", "python-3.4.4")
DEFAULT_DRIVER = "node-6.7.0"
_ANSWER_SECONDS = 15.0


class OperationError(AssertionError):
    """An operation was answered with `fail` or `info`; the answer is in `answer`."""

    def __init__(self, op: str, answer: Answer) -> None:
        super().__init__(f"{op}: {answer['type']}: {answer.get('error')}")
        self.answer = answer

    @property
    def unsupported(self) -> bool:
        """Whether this version of BullMQ has no such operation."""
        return self.answer.get("error") == "unsupported"


@dataclass(frozen=True, slots=True)
class Version:
    """A driver's name taken apart: `node-6.7.0` is language `node`, version `6.7.0`, major 6."""

    language: str
    number: str

    @property
    def major(self) -> int:
        """The first part of the version number."""
        return int(self.number.split(".")[0])


def version_of(name: str) -> Version:
    """Take a driver's name apart."""
    language, _, number = name.partition("-")
    return Version(language, number)


class Driver:
    """One driver process on one server; `env` adds variables, such as a clock of its own (libfaketime)."""

    def __init__(
        self, name: str, server: Server, *, prefix: str = "bull", env: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.version = version_of(name)
        environment = {**os.environ, "QOBSERVE_REDIS_URL": server.url, "QOBSERVE_PREFIX": prefix, **(env or {})}
        self.child = Child(_command(self.version), cwd=FOLDER, env=environment, piped=True)
        self._ids = itertools.count(1)
        self._answers: dict[int, Answer] = {}
        self._ended = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def call(self, op: str, *, timeout: float = _ANSWER_SECONDS, **fields: Json) -> Answer:
        """Apply one operation.

        Raises:
            OperationError: It was answered, but not with `ok`.
            RigTimeoutError: No answer came in time, or the driver died.
        """
        answer = self.wait(self.send(op, **fields), op, timeout=timeout)
        if answer["type"] != "ok":
            raise OperationError(op, answer)
        return answer

    async def acall(self, op: str, *, timeout: float = _ANSWER_SECONDS, **fields: Json) -> Answer:  # noqa: ASYNC109 - the deadline is the answer's, as in `call`
        """The same for asynchronous tests."""
        number = self.send(op, **fields)
        answer = await asyncio.to_thread(self.wait, number, op, timeout=timeout)
        if answer["type"] != "ok":
            raise OperationError(op, answer)
        return answer

    def send(self, op: str, **fields: Json) -> int:
        """Send a request without waiting; the number is for `wait`."""
        number = next(self._ids)
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.write(json.dumps({"id": number, "op": op, **fields}) + "\n")
            self.child.stdin.flush()
        return number

    def wait(self, number: int, op: str = "an operation", *, timeout: float = _ANSWER_SECONDS) -> Answer:
        """The answer to a request, whatever its type."""
        with self._news:
            self._news.wait_for(lambda: number in self._answers or self._ended, timeout)
            if number in self._answers:
                return self._answers.pop(number)
        state = "it died" if self._ended else f"no answer in {timeout:g} s"
        raise RigTimeoutError(f"driver {self.name}, {op}: {state}\n{self.child.log()}")

    def kill(self) -> None:
        """Crash it (SIGKILL): its workers die as a process dies."""
        self.child.signal(9)
        self._reader.join()
        self.child.kill()

    def _read(self) -> None:
        for line in self.child.stdout:
            answer: Answer = json.loads(line)
            number = answer["id"]
            assert isinstance(number, int)
            with self._news:
                self._answers[number] = answer
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


@contextlib.contextmanager
def driving(
    name: str, server: Server, *, prefix: str = "bull", env: Mapping[str, str] | None = None
) -> Iterator[Driver]:
    """A driver for the length of a `with` block; what it needs and is not there skips the test, or fails it in CI."""
    driver = Driver(name, server, prefix=prefix, env=env)
    try:
        yield driver
    finally:
        driver.kill()


def _command(version: Version) -> list[str]:
    if version.language == "python":
        return [sys.executable, str(FOLDER / "driver.py")]
    node = shutil.which("node")
    if node is None:
        missing("no node on PATH: it runs BullMQ's own library")
    if not (FOLDER / "node_modules" / f"bullmq-{version.number}").is_dir():
        missing(f"no BullMQ {version.number} for Node.js: run `npm ci --ignore-scripts` in chaos/worker")
    return [node, str(FOLDER / "driver.mjs"), "--bullmq", version.number]
