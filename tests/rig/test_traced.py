"""Traced producers and workers write their context into jobs and send their spans; untraced ones do neither."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

from rig.child import wait_until
from rig.otlp import receiving
from rig.traced import tracing

if TYPE_CHECKING:
    import redis

    from rig.drivers import Driver
    from rig.servers import Server

TRACED = ("node-5.81.5", "node-6.7.0", "python-3.4.4")
FLOW = {"name": "parent", "queueName": "q", "children": [{"name": "child", "queueName": "q", "opts": {"attempts": 1}}]}


def traceparent(client: redis.Redis, job: str) -> str | None:
    raw = cast("bytes", client.hget(f"bull:q:{job}", "opts"))
    options = json.loads(raw)
    return json.loads(options["tm"])["traceparent"] if "tm" in options else None


def run_one(driver: Driver) -> str:
    driver.call("work", worker="w", queue="q")
    job = str(driver.call("add", queue="q", name="job")["jobId"])
    wait_until(lambda: driver.call("getJobState", queue="q", jobId=job)["state"] == "completed", "the job to complete")
    return job


@pytest.mark.parametrize("name", TRACED)
def test_a_traced_job_s_spans_arrive(server: Server, redis_client: redis.Redis, name: str) -> None:
    with receiving() as receiver, tracing(name, server, receiver.http_endpoint, service="shop") as driver:
        job = run_one(driver)
        wait_until(lambda: {"producer", "consumer"} <= {span.kind for span in receiver.spans}, "both spans")
        producer = next(span for span in receiver.spans if span.kind == "producer")
        consumer = next(span for span in receiver.spans if span.kind == "consumer")

    context, _, flags = (traceparent(redis_client, job) or "").rpartition("-")
    assert context == f"00-{producer.trace_id}-{producer.span_id}"
    assert int(flags, 16) & 1, "sampled; a newer SDK adds the flag of a random trace id"
    assert {producer.resource["service.name"], consumer.resource["service.name"]} == {"shop"}
    if name.startswith("node"):
        assert (consumer.trace_id, consumer.parent_span_id) == (producer.trace_id, producer.span_id)


@pytest.mark.parametrize("name", TRACED)
def test_an_untraced_job_has_no_context(server: Server, redis_client: redis.Redis, name: str) -> None:
    with tracing(name, server, None) as driver:
        assert traceparent(redis_client, run_one(driver)) is None


@pytest.mark.parametrize("name", TRACED)
def test_the_jobs_of_a_flow_are_traced(server: Server, redis_client: redis.Redis, name: str) -> None:
    with receiving() as receiver, tracing(name, server, receiver.http_endpoint) as driver:
        answer = driver.call("addFlow", flow={**FLOW, "opts": {"attempts": 1}})["flow"]
        assert isinstance(answer, dict)
        assert isinstance(answer["children"], list)
        child = cast("dict[str, str]", answer["children"][0])["jobId"]
        contexts = [traceparent(redis_client, str(answer["jobId"])), traceparent(redis_client, child)]
    assert None not in contexts
