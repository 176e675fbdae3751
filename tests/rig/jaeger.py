"""Jaeger 1.76, the all-in-one program: built once in a module of its own, and kept under `build` at the root."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from rig.child import Child, RigTimeoutError, wait_until
from rig.programs import missing
from rig.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERSION = "1.76.0"
_PACKAGE = "github.com/jaegertracing/jaeger/cmd/all-in-one"
_FOLDER = Path(__file__).parents[2] / "build" / f"jaeger-{VERSION}"
_PROGRAM = "all-in-one"
# About seven minutes of one core, and of the patience that others leave us.
_BUILD_SECONDS = 1_800
_PORTS = (
    *("admin.http", "collector.grpc-server", "collector.http-server", "collector.otlp.grpc", "collector.otlp.http"),
    *("query.grpc-server", "query.http-server"),
)


class Jaeger:
    """A running Jaeger whose store is its memory."""

    def __init__(self, child: Child, ports: dict[str, int]) -> None:
        self.child = child
        self.grpc_endpoint = f"http://127.0.0.1:{ports['collector.otlp.grpc']}"
        self.http_endpoint = f"http://127.0.0.1:{ports['collector.otlp.http']}"
        self._query = f"http://127.0.0.1:{ports['query.http-server']}/api"

    def services(self) -> set[str]:
        """Who has sent spans."""
        return set(self._get("services") or ())

    def traces(self, service: str) -> list[dict[str, Any]]:
        """The traces that a service has a span in, as the query API tells them."""
        return list(self._get(f"traces?service={service}&limit=100&lookback=1h") or ())

    def trace(self, trace_id: str) -> dict[str, Any]:
        """One whole trace; without spans where it is not known."""
        found = self._get(f"traces/{trace_id}")
        return dict(found[0]) if found else {"spans": [], "processes": {}}

    def _get(self, path: str) -> list[Any] | None:
        data: list[Any] | None = httpx.get(f"{self._query}/{path}", timeout=10).json()["data"]
        return data


@contextlib.contextmanager
def jaeger() -> Iterator[Jaeger]:
    """A Jaeger for the length of a `with` block; where it cannot be built the test is skipped, or fails in CI."""
    program = _built()
    ports = {name: free_port() for name in _PORTS}
    flags = [f"--{name}.host-port=127.0.0.1:{port}" for name, port in ports.items()]
    child = Child([str(program), *flags, "--collector.zipkin.host-port="])
    try:
        started = Jaeger(child, ports)
        wait_until(lambda: _answers(started), "Jaeger to answer", timeout=30)
        yield started
    finally:
        child.kill()


def _answers(started: Jaeger) -> bool:
    if not started.child.running:
        raise RigTimeoutError(f"Jaeger ended at once: {started.child.log()}")
    with contextlib.suppress(httpx.TransportError):
        return started.services() is not None
    return False


def _built() -> Path:
    program = _FOLDER / _PROGRAM
    if not program.exists():
        if shutil.which("go") is None:
            missing(f"no go on PATH: it builds Jaeger {VERSION}")
        _FOLDER.mkdir(parents=True, exist_ok=True)
        if not (_FOLDER / "go.mod").exists():
            _go("mod", "init", "jaeger.invalid")
        _go("get", "-tool", f"{_PACKAGE}@v{VERSION}")
        _go("build", "-o", f"{_PROGRAM}.new", _PACKAGE)
        (_FOLDER / f"{_PROGRAM}.new").rename(program)
    return program


def _go(*words: str) -> None:
    command: Sequence[str] = ("nice", "-n", "19", "go", *words)
    try:
        subprocess.run(command, cwd=_FOLDER, capture_output=True, text=True, check=True, timeout=_BUILD_SECONDS)
    except subprocess.CalledProcessError as exc:
        missing(f"Jaeger {VERSION} cannot be built: `go {words[0]}` says {exc.stderr.strip().splitlines()[-1:]}")
    except subprocess.TimeoutExpired:
        missing(f"Jaeger {VERSION} cannot be built: `go {words[0]}` takes over {_BUILD_SECONDS} s")
