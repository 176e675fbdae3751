"""A real Jaeger shows the application's spans and ours as one trace, or as linked ones."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from rig.child import wait_until
from rig.jaeger import jaeger
from rig.performance import tracing_alone
from rig.told import OURS
from rig.traced import tracing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.jaeger import Jaeger
    from rig.servers import Server

SENT, WAITED, PROCESSED = ("producer", "add mail.welcome"), (OURS, "wait mail"), (OURS, "process mail")
# The first time Jaeger is built, which takes many minutes.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2_000)]


@pytest.fixture(scope="module")
def backend() -> Iterator[Jaeger]:
    with jaeger() as started:
        yield started


def spans(trace: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """A trace's spans by service and name."""
    named = {key: process["serviceName"] for key, process in trace["processes"].items()}
    return {(named[span["processID"]], span["operationName"]): span for span in trace["spans"]}


def references(span: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(each["refType"], each["traceID"], each["spanID"]) for each in span["references"]}


def tags(span: dict[str, Any]) -> dict[str, object]:
    return {tag["key"]: tag["value"] for tag in span["tags"]}


@contextlib.contextmanager
def one_job(server: Server, backend: Jaeger, *words: str, job: str) -> Iterator[None]:
    """A job that its producer traced, and its worker did not."""
    with (
        tracing_alone("--redis.url", server.url, "--queues.static", "mail", *words),
        tracing("node-6.7.0", server, backend.http_endpoint, service="producer") as producer,
        tracing("node-6.7.0", server, None) as worker,
    ):
        producer.call("add", queue="mail", name="welcome", opts={"jobId": job})
        worker.call("work", worker="w", queue="mail", script={"*": {"sleep": 20}})
        yield


def find(backend: Jaeger, job: str, wanted: tuple[str, str]) -> dict[str, Any]:
    """The trace in which this span of this job is."""

    def traces() -> list[dict[str, Any]]:
        return [
            trace
            for trace in backend.traces(wanted[0])
            if wanted in spans(trace) and tags(spans(trace)[wanted])["bullmq.job.id"] == job
        ]

    wait_until(lambda: len(traces()) == 1, f"{wanted} of {job} in Jaeger", timeout=20, poll=0.2)
    return backend.trace(traces()[0]["traceID"])


def test_a_joined_trace(server: Server, backend: Jaeger) -> None:
    words = ("--tracing.otlp-endpoint", backend.http_endpoint, "--tracing.relation", "parent")
    with one_job(server, backend, *words, job="joined"):
        trace = find(backend, "joined", PROCESSED)
        wait_until(lambda: len(backend.trace(trace["traceID"])["spans"]) == 3, "all spans of the trace")
        told = spans(backend.trace(trace["traceID"]))
    assert told.keys() == {SENT, WAITED, PROCESSED}
    above = {("CHILD_OF", trace["traceID"], told[SENT]["spanID"])}
    assert references(told[WAITED]) == references(told[PROCESSED]) == above
    assert tags(told[PROCESSED])["span.kind"] == "consumer"
    assert tags(told[PROCESSED])["messaging.message.id"] == "joined"


def test_linked_traces_over_grpc(server: Server, backend: Jaeger) -> None:
    words = ("--tracing.otlp-endpoint", backend.grpc_endpoint, "--tracing.otlp-protocol", "grpc")
    with one_job(server, backend, *words, job="linked"):
        own, producers = (find(backend, "linked", wanted) for wanted in (PROCESSED, SENT))
    told, sent = spans(own), spans(producers)[SENT]
    assert own["traceID"] != producers["traceID"]
    assert references(told[PROCESSED]) == {
        ("CHILD_OF", own["traceID"], told[WAITED]["spanID"]),
        ("FOLLOWS_FROM", producers["traceID"], sent["spanID"]),
    }
