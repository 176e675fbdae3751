"""A story played before two tracers: `qobserve exporter` links, over HTTP, and `qobserve trace` joins, over gRPC.

`python -m rig.performance` in `tests` writes the golden lists of spans anew.
"""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rig.child import Child, wait_until
from rig.otlp import receiving
from rig.scrape import exporting
from rig.servers import DEFAULT_KIND, ServerOptions, running
from rig.story import CASTS, jobs, playing
from rig.told import OURS, Printer, job_of, queue_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rig.otlp import OtlpReceiver
    from rig.otlp_spans import ReceivedSpan
    from rig.servers import Server
    from rig.story import Cast

GOLDEN = Path(__file__).parents[1] / "golden" / "traces"
RELATIONS = ("link", "parent")
_QOBSERVE = (sys.executable, "-m", "qobserve")
_MESSAGES = frozenset({"producer", "consumer", "client"})
_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """What came of it.

    Attributes:
        cast: Who played.
        application: The spans of producers and workers that are about messages; of others there are many.
        told: Our spans, by relation.
        jobs: The hashes of all jobs at the end, by queue and id.
    """

    cast: Cast
    application: tuple[ReceivedSpan, ...]
    told: Mapping[str, tuple[ReceivedSpan, ...]]
    jobs: Mapping[tuple[str, str], Mapping[bytes, bytes]]

    def text(self, relation: str) -> str:
        """All spans of the application and ours under this relation, with ids that count."""
        return Printer().text((*self.application, *self.told[relation]))


def golden(cast: Cast, relation: str) -> Path:
    """Where the list of spans is kept."""
    return GOLDEN / f"{cast.name}.{relation}.txt"


@contextlib.contextmanager
def tracing_alone(*words: str, env: Mapping[str, str] | None = None) -> Iterator[Child]:
    """`qobserve trace` for the length of a `with` block, from when it follows."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("QOBSERVE_", "OTEL_"))}
    child = Child([*_QOBSERVE, "trace", *words], env={**clean, **(env or {})})
    try:
        wait_until(lambda: "exporting spans" in child.log() or not child.running, "the tracer to start")
        yield child
    finally:
        child.kill()


def perform(cast: Cast) -> Performance:
    """Play the story on a server of its own."""
    with contextlib.ExitStack() as stage:
        server = stage.enter_context(running(DEFAULT_KIND, ServerOptions()))
        links, joins, applications = (stage.enter_context(receiving()) for _ in range(3))
        common = ("--redis.url", server.url, "--discovery.interval", "1s", "--tracing.otlp-endpoint")
        exporter = stage.enter_context(exporting(*common, links.http_endpoint)).child
        over_grpc = ("--tracing.otlp-protocol", "grpc", "--tracing.relation", "parent")
        tracer = stage.enter_context(tracing_alone(*common, joins.grpc_endpoint, *over_grpc))
        with playing(server, cast, applications.http_endpoint):
            ended = _hashes(server)
            wait_until(lambda: _are_told(applications, cast, ended), "the workers' own spans", timeout=_SECONDS)
        for receiver in (links, joins):
            wait_until(lambda each=receiver: ended.keys() <= _ended(each), "all jobs to be told", timeout=_SECONDS)  # type: ignore[misc] # mypy does not see the default
        assert (exporter.terminate(), tracer.terminate()) == (0, 0)
        spans = tuple(span for span in applications.spans if span.kind in _MESSAGES)
        return Performance(
            cast=cast, application=spans, told={"link": (*links.spans,), "parent": (*joins.spans,)}, jobs=ended
        )


def _hashes(server: Server) -> dict[tuple[str, str], dict[bytes, bytes]]:
    with server.client() as client:
        return jobs(client)


def _ended(receiver: OtlpReceiver) -> set[tuple[str, str]]:
    """The jobs whose last run has been told."""
    return {
        (queue_of(span), job_of(span))
        for span in receiver.spans
        if span.name.startswith("process ") and span.attributes.get("bullmq.job.outcome") in {"completed", "failed"}
    }


def _are_told(receiver: OtlpReceiver, cast: Cast, ended: Mapping[tuple[str, str], object]) -> bool:
    told = {(queue_of(span), job_of(span)) for span in receiver.spans if span.kind == "consumer"}
    return not cast.worker_traced or ended.keys() <= told


def _write() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for cast in CASTS:
        performance = perform(cast)
        for relation in RELATIONS:
            golden(cast, relation).write_text(performance.text(relation))
            assert {span.resource["service.name"] for span in performance.told[relation]} == {OURS}


if __name__ == "__main__":
    _write()
