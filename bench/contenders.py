"""Everything that is measured, ready to go: the floor, our reader, our exporter and BullMQ's own text."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dataset import queue_name
from rig.child import Child, wait_until
from rig.scrape import exporting

from qobserve.config import DiscoverySettings, TargetSettings
from qobserve.reader.reader import Reader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from rig.servers import Server

HOUR = 3600.0
_READY_SECONDS = 120.0
_OWN = Path(__file__).with_name("own.mjs")
_SLO = ("--slo.wait", "30s", "--slo.objective", "99.5%")
_AS_PROMETHEUS = {
    "Accept": "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
    "Accept-Encoding": "gzip",
    "X-Prometheus-Scrape-Timeout-Seconds": "60",
}
_PLAIN = {"X-Prometheus-Scrape-Timeout-Seconds": "60"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What a scrape brought: bytes on the wire, and series."""

    wire_bytes: int
    series: int


@contextlib.asynccontextmanager
async def reading(server: Server) -> AsyncIterator[Reader]:
    """A reader that has found its queues and does not search again."""
    settings = TargetSettings(url=server.url, timeout=60, discovery=DiscoverySettings(interval=HOUR))
    reader = Reader(settings, "bench")
    await reader.start()
    try:
        await reader.discovered_once()
        yield reader
    finally:
        await reader.close()


async def read(reader: Reader, queues: int) -> float:
    """Seconds of one snapshot.

    Raises:
        RuntimeError: It is not whole.
    """
    began = time.perf_counter()
    snapshot = await reader.snapshot()
    seconds = time.perf_counter() - began
    found = len(list(snapshot.queues()))
    if snapshot.trouble or found != queues:
        raise RuntimeError(f"{found} of {queues} queues were read: {snapshot.trouble}")
    return seconds


class Exporter:
    """A running `qobserve exporter` and a client that connects anew for each scrape: it comes too seldom to be kept."""

    def __init__(self, child: Child, url: str) -> None:
        self.child = child
        self.texts: dict[str, Text] = {}
        self._client = http.client.HTTPConnection(url.removeprefix("http://"), timeout=90)

    def scrape(self, way: str) -> float:
        """Seconds of one scrape, `plain`, or as `prometheus` asks (OpenMetrics, gzip).

        Raises:
            RuntimeError: The answer is not 200, or tells that Redis was not read.
        """
        began = time.perf_counter()
        self._client.request("GET", "/metrics", headers=_PLAIN if way == "plain" else _AS_PROMETHEUS)
        response = self._client.getresponse()
        body = response.read()
        seconds = time.perf_counter() - began
        self._client.close()
        self.texts[way] = _weighed(response, body)
        return seconds

    def memory_kib(self) -> dict[str, int]:
        """Resident memory now (`VmRSS`) and at its most (`VmHWM`)."""
        lines = Path(f"/proc/{self.child.pid}/status").read_text(encoding="ascii").splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return {name: int(fields[name].split()[0]) for name in ("VmRSS", "VmHWM") if name in fields}

    def cpu_seconds(self) -> float:
        """Processor time since it was started."""
        after_name = Path(f"/proc/{self.child.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return sum(map(int, after_name[11:13])) / os.sysconf("SC_CLK_TCK")

    def totals(self) -> dict[str, float]:
        """What it exports now: of each series' name, the sum over all labels."""
        self._client.request("GET", "/metrics", headers=_PLAIN)
        text = self._client.getresponse().read().decode()
        self._client.close()
        sums: dict[str, float] = defaultdict(float)
        for line in text.splitlines():
            if not line.startswith("#"):
                series, _, value = line.rpartition(" ")
                sums[series.partition("{")[0]] += float(value)
        return sums


@contextlib.contextmanager
def exporter(server: Server, *flags: str, interval: str = "1h") -> Iterator[Exporter]:
    """An exporter on a server, ready."""
    arguments = ("--redis.url", server.url, "--redis.timeout", "60s", "--discovery.interval", interval, *_SLO, *flags)
    with exporting(*arguments, ready=False) as running:
        wait_until(lambda: running.get("/-/ready").is_success, "the exporter to be ready", timeout=_READY_SECONDS)
        yield Exporter(running.child, running.url)


class Own:
    """BullMQ's own exposition, in a Node.js process with all queues open."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self.texts: dict[str, Text] = {}

    def ask(self, line: str) -> dict[str, float]:
        """One answer."""
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()
        answer = self._child.stdout.readline()
        if not answer:
            raise RuntimeError(f"BullMQ's own process ended: {self._child.log()}")
        figures: dict[str, float] = json.loads(answer)
        return figures

    def export(self, way: str) -> float:
        """Seconds of one export, `concurrently` or `one by one`."""
        answer = self.ask(way)
        self.texts[way] = Text(wire_bytes=int(answer["bytes"]), series=int(answer["series"]))
        return answer["seconds"]


@contextlib.contextmanager
def own(server: Server, queues: int) -> Iterator[Own]:
    """BullMQ's own on a server."""
    child = Child(["node", str(_OWN), str(server.port)], cwd=_OWN.parent, piped=True)
    try:
        running = Own(child)
        running.ask(json.dumps([queue_name(index) for index in range(queues)]))
        yield running
    finally:
        child.kill()


def _weighed(response: http.client.HTTPResponse, body: bytes) -> Text:
    text = gzip.decompress(body) if response.headers["Content-Encoding"] == "gzip" else body
    lines = [line for line in text.splitlines() if line and not line.startswith(b"#")]
    if response.status != http.client.OK or b"bullmq_up 1.0" not in lines:
        raise RuntimeError(f"the exporter answered {response.status}: {text[:300]!r}")
    return Text(wire_bytes=len(body), series=len(lines))
