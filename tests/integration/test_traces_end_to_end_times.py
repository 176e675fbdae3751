"""The times of spans are those that the workers themselves measured, in their own spans and in the jobs' hashes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.otlp import receiving
from rig.performance import tracing_alone
from rig.told import OURS, job_of
from rig.traced import tracing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import redis
    from rig.otlp import OtlpReceiver
    from rig.otlp_spans import ReceivedSpan
    from rig.servers import Server

NEAR_MS = 10
# A program's first jobs run code that was never run before: the worker's own span then begins and ends later.
WARM, MEASURED = 20, 40
# What is between an event and its worker's own clock is a program that may be made to wait by others on the machine.
MOST_OFF = MEASURED // 10


@pytest.fixture(params=["node-6.7.0", "python-3.4.4"])
def told(request: pytest.FixtureRequest, server: Server) -> Iterator[OtlpReceiver]:
    """The spans of the application and ours, of jobs that a traced worker has processed one after the other."""
    with contextlib.ExitStack() as stage:
        receiver = stage.enter_context(receiving())
        words = ("--redis.url", server.url, "--tracing.otlp-endpoint", receiver.http_endpoint)
        stage.enter_context(tracing_alone(*words, "--queues.static", "mail"))
        driver = stage.enter_context(tracing(request.param, server, receiver.http_endpoint, service="worker"))
        driver.call("work", worker="w", queue="mail", script={"*": {"sleep": 10}})
        for number in range(WARM + MEASURED):
            driver.call("add", queue="mail", name="job", opts={"jobId": f"j-{number}", "delay": 1})
        for service in (OURS, "worker"):
            wait_until(
                lambda name=service: len(processed(receiver, name)) == WARM + MEASURED,  # type: ignore[misc] # as usual
                f"the spans of {service}",
                timeout=30,
            )
        yield receiver


def processed(receiver: OtlpReceiver, service: str) -> dict[str, ReceivedSpan]:
    spans = (span for span in receiver.spans if span.kind == "consumer" and span.resource["service.name"] == service)
    return {job_of(span): span for span in spans}


def off(ours: Mapping[str, tuple[float, float]], others: Mapping[str, tuple[float, float]]) -> list[str]:
    """Jobs whose start or end differs by more than is allowed, of those that count."""
    return [
        f"{job}: {ours[job][0] - others[job][0]:.1f} ms, {ours[job][1] - others[job][1]:.1f} ms"
        for job in (f"j-{number}" for number in range(WARM, WARM + MEASURED))
        if max(abs(one - other) for one, other in zip(ours[job], others[job], strict=True)) > NEAR_MS
    ]


def times(spans: Mapping[str, ReceivedSpan]) -> dict[str, tuple[float, float]]:
    return {job: (span.start_ns / 1e6, span.end_ns / 1e6) for job, span in spans.items()}


def test_times_are_the_workers_own(told: OtlpReceiver, redis_client: redis.Redis) -> None:
    ours = times(processed(told, OURS))
    hashes = {job: redis_client.hmget(f"bull:mail:{job}", "processedOn", "finishedOn") for job in ours}
    own = {job: (float(began or 0), float(ended or 0)) for job, (began, ended) in hashes.items()}
    for others in (own, times(processed(told, "worker"))):
        assert len(others) == WARM + MEASURED
        assert len(late := off(ours, others)) <= MOST_OFF, late
