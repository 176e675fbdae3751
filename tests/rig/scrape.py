"""The exporter as users run it: a process of its own, whose text is parsed with Prometheus's own parser."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import httpx
from prometheus_client.parser import text_string_to_metric_families

from rig.child import Child, RigTimeoutError, wait_until
from rig.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Samples: TypeAlias = "dict[tuple[str, frozenset[tuple[str, str]]], float]"

_COMMAND = (sys.executable, "-m", "qobserve", "exporter")
_READY_SECONDS = 15.0
_ONCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """What one `--once` run printed, and how it ended."""

    text: str
    errors: str
    code: int


class Exporter:
    """A running exporter."""

    def __init__(self, child: Child, port: int) -> None:
        self.child = child
        self.url = f"http://127.0.0.1:{port}"

    def get(self, path: str, **headers: str) -> httpx.Response:
        """One request; header names are given with underscores."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx.get(f"{self.url}{path}", headers=named, timeout=15)

    def samples(self, path: str = "/metrics") -> Samples:
        """What it exports now."""
        response = self.get(path)
        response.raise_for_status()
        return parse(response.text)


def once(url: str, *arguments: str, env: Mapping[str, str] | None = None) -> Once:
    """Run `qobserve exporter --once` against a Redis."""
    done = subprocess.run(
        [*_COMMAND, "--redis.url", url, "--once", *arguments],
        capture_output=True,
        text=True,
        timeout=_ONCE_SECONDS,
        env=_environment(env),
        check=False,
    )
    return Once(text=done.stdout, errors=done.stderr, code=done.returncode)


@contextlib.contextmanager
def exporting(*arguments: str, env: Mapping[str, str] | None = None, ready: bool = True) -> Iterator[Exporter]:
    """An exporter on a free port for the length of a `with` block.

    Args:
        arguments: Its command line, without the listen address.
        env: Variables beside those of the tests' own environment.
        ready: Wait for `/-/ready`; otherwise only until it is alive.
    """
    port = free_port()
    argv = (*_COMMAND, "--web.listen-address", f"127.0.0.1:{port}", *arguments)
    exporter = Exporter(Child(argv, env=_environment(env)), port)
    try:
        path = "/-/ready" if ready else "/-/healthy"
        wait_until(lambda: _says_ok(exporter, path), f"the exporter's {path}", timeout=_READY_SECONDS)
        yield exporter
    except RigTimeoutError as exc:
        exc.add_note(exporter.child.log())
        raise
    finally:
        exporter.child.kill()


def parse(text: str) -> Samples:
    """An exposition as a mapping; a series that is there twice is an error."""
    samples: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in samples, f"printed twice: {key}"
            samples[key] = sample.value
    return samples


def key(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    """The key of a series."""
    return name, frozenset(labels.items())


def _says_ok(exporter: Exporter, path: str) -> bool:
    if not exporter.child.running:
        raise RigTimeoutError("the exporter ended at once")
    with contextlib.suppress(httpx.TransportError):
        return exporter.get(path).status_code == httpx.codes.OK
    return False


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("QOBSERVE_")}
    return {**kept, **(extra or {})}
