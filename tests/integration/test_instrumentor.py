"""Jobs of an application that uses BullMQ for Python, on a real server, with its spans."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bullmq import (  # type: ignore[import-untyped]
    DelayedError,
    FlowProducer,
    Job,
    JobScheduler,
    Queue,
    UnrecoverableError,
    WaitingChildrenError,
    Worker,
)
from opentelemetry import baggage, trace
from opentelemetry import context as contexts
from opentelemetry.instrumentation.utils import suppress_instrumentation
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from qobserve.tracing.instrumentor import BullMQInstrumentor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    import redis
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext
    from rig.servers import Server

Processor = "Callable[..., Awaitable[object]]"
TM = '{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}'
GIVEN = (0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331)


class Telescope:
    """An application's SDK, whose finished spans can be seen."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("application")

    def spans(self, name: str = "", **attributes: object) -> list[ReadableSpan]:
        """The spans so far, oldest first, of a name and with attributes (underscores stand for dots)."""
        wanted = {key.replace("_", "."): value for key, value in attributes.items()}
        found = self.exporter.get_finished_spans()
        return [s for s in found if (not name or s.name == name) and wanted.items() <= (s.attributes or {}).items()]

    def span(self, name: str = "", **attributes: object) -> ReadableSpan:
        """The only such span."""
        (found,) = self.spans(name, **attributes)
        return found


@pytest.fixture
def telescope() -> Telescope:
    return Telescope()


@contextmanager
def instrumented(telescope: Telescope, **options: object) -> Iterator[None]:
    BullMQInstrumentor().instrument(tracer_provider=telescope.provider, **options)
    try:
        yield
    finally:
        BullMQInstrumentor().uninstrument()


@pytest.fixture
def watched(telescope: Telescope) -> Iterator[Telescope]:
    """As most applications will have it."""
    with instrumented(telescope):
        yield telescope


@asynccontextmanager
async def queue_on(server: Server, name: str = "mail", **opts: object) -> AsyncIterator[Queue]:
    queue = Queue(name, {"connection": server.url, **opts})
    try:
        yield queue
    finally:
        await queue.close()


@asynccontextmanager
async def flows_on(server: Server) -> AsyncIterator[FlowProducer]:
    producer = FlowProducer({"connection": server.url})
    try:
        yield producer
    finally:
        await producer.close()


async def worked(server: Server, processor: Processor, runs: int, *, events: str = "", **opts: object) -> Worker:
    """Have a worker process jobs of `mail` until it has said `events` so often; it is closed then."""
    worker = Worker("mail", processor, {"connection": server.url, "autorun": False, **opts})
    said: asyncio.Queue[str] = asyncio.Queue()
    for event in (events or "completed failed").split():
        worker.on(event, lambda *_args, event=event: said.put_nowait(event))
    running = asyncio.ensure_future(worker.run())
    try:
        async with asyncio.timeout(10):
            for _ in range(runs):
                await said.get()
    finally:
        await worker.close()
        await running
    return worker


def ids(context: SpanContext | None) -> tuple[int, int] | None:
    return (context.trace_id, context.span_id) if context else None


def links(span: ReadableSpan) -> list[tuple[int, int] | None]:
    return [ids(link.context) for link in span.links]


def opts_of(client: redis.Redis, job_id: object, queue: str = "mail") -> dict[str, object]:
    raw = client.hget(f"bull:{queue}:{job_id}", "opts")
    assert isinstance(raw, bytes)
    parsed: dict[str, object] = json.loads(raw)
    return parsed


def traceparent(context: SpanContext | None) -> str:
    assert context is not None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def tm_of(span: ReadableSpan) -> str:
    """What Node's JSON.stringify makes of the span's headers."""
    return f'{{"traceparent":"{traceparent(span.context)}"}}'


# Producers


async def test_add(server: Server, redis_client: redis.Redis, watched: Telescope) -> None:
    async with queue_on(server) as queue:
        job = await queue.add("welcome", {"to": "ada"})
    span = watched.span()
    assert (span.name, span.kind, span.parent, span.status.status_code) == (
        "add mail",
        SpanKind.PRODUCER,
        None,
        StatusCode.UNSET,
    )
    assert dict(span.attributes or {}) == {
        "messaging.system": "bullmq",
        "messaging.operation.name": "add",
        "messaging.operation.type": "send",
        "messaging.destination.name": "mail",
        "messaging.message.id": "1",
        "server.address": "127.0.0.1",
        "server.port": server.port,
        "bullmq.queue.name": "mail",
        "bullmq.queue.prefix": "bull",
        "bullmq.queue.operation": "add",
        "bullmq.job.id": "1",
        "bullmq.job.name": "welcome",
    }
    assert job.id == "1"
    assert opts_of(redis_client, 1)["tm"] == tm_of(span)


async def test_add_is_part_of_the_trace_around_it(server: Server, watched: Telescope) -> None:
    async with queue_on(server) as queue:
        with watched.tracer.start_as_current_span("request") as request:
            await queue.add("welcome", {})
    assert ids(watched.span("add mail").parent) == ids(request.get_span_context())


async def test_baggage_and_trace_state_travel(server: Server, redis_client: redis.Redis, watched: Telescope) -> None:
    state = trace.TraceState([("vendor", "x")])
    parent = trace.SpanContext(1, 2, is_remote=True, trace_flags=trace.TraceFlags(1), trace_state=state)
    context = baggage.set_baggage(
        "tenant", "ä b", trace.set_span_in_context(trace.NonRecordingSpan(parent), contexts.get_current())
    )
    seen: list[object] = []

    async def processor(_job: Job, _token: str) -> None:
        seen.append(baggage.get_baggage("tenant"))

    token = contexts.attach(context)
    async with queue_on(server) as queue:
        await queue.add("welcome", {})
    contexts.detach(token)
    headers = json.loads(str(opts_of(redis_client, 1)["tm"]))
    assert headers == {
        "traceparent": traceparent(watched.span("add mail").context),
        "tracestate": "vendor=x",
        "baggage": "tenant=%C3%A4+b",
    }
    await worked(server, processor, 1)
    assert seen == ["ä b"]


async def test_what_is_not_sampled_is_said_not_to_be(server: Server, redis_client: redis.Redis) -> None:
    telescope = Telescope()
    parent = trace.NonRecordingSpan(trace.SpanContext(1, 2, is_remote=True))
    with instrumented(telescope), trace.use_span(parent):
        async with queue_on(server) as queue:
            await queue.add("welcome", {})
    assert telescope.spans() == []
    sent = json.loads(str(opts_of(redis_client, 1)["tm"]))["traceparent"]
    assert sent.startswith("00-00000000000000000000000000000001-")
    assert int(sent[-2:], 16) & 1 == 0


@pytest.mark.parametrize("opts", [{"omc": True}, {"telemetry": {"omitContext": True}}], ids=["stored", "spoken"])
async def test_a_job_that_is_not_to_be_joined(
    server: Server, redis_client: redis.Redis, watched: Telescope, opts: dict[str, object]
) -> None:
    async with queue_on(server) as queue:
        await queue.add("welcome", {}, opts)
        await queue.addBulk([{"name": "welcome", "data": {}, "opts": opts}])
    async with queue_on(server, defaultJobOptions=opts) as queue:
        await queue.add("welcome", {})
    assert all("tm" not in opts_of(redis_client, n) for n in (1, 2, 3))
    assert Counter(span.name for span in watched.spans()) == {"add mail": 2, "addBulk mail": 1}
    await worked(server, _nothing, 3)
    assert [links(span) for span in watched.spans("process mail")] == [[], [], []]


async def test_a_context_that_the_caller_gave_stays(
    server: Server, redis_client: redis.Redis, watched: Telescope
) -> None:
    async with queue_on(server) as queue:
        await queue.add("welcome", {}, {"tm": TM})
        await queue.addBulk([{"name": "welcome", "data": {}, "opts": {"tm": TM}}])
    assert [opts_of(redis_client, n)["tm"] for n in (1, 2)] == [TM, TM]
    assert [(s.name, s.kind, links(s)) for s in watched.spans()] == [
        ("add mail", SpanKind.CLIENT, [GIVEN]),
        ("addBulk mail", SpanKind.CLIENT, [GIVEN]),
    ]


async def test_an_add_that_fails(server: Server, watched: Telescope) -> None:
    async with queue_on(server) as queue:
        with pytest.raises(ValueError, match="cannot be used together"):
            await queue.add("welcome", {}, {"failParentOnFailure": True, "removeDependencyOnFailure": True})
    span = watched.span("add mail")
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "ValueError"
    assert [event.name for event in span.events] == ["exception"]


async def test_bulk(server: Server, redis_client: redis.Redis, watched: Telescope) -> None:
    async with queue_on(server) as queue:
        with watched.tracer.start_as_current_span("request") as request:
            jobs = await queue.addBulk([{"name": name, "data": {}} for name in ("a", "b")])
    first, second = watched.spans("create mail")
    assert [job.id for job in jobs] == ["1", "2"]
    for span, job_id, name in ((first, "1", "a"), (second, "2", "b")):
        assert (span.kind, ids(span.parent)) == (SpanKind.PRODUCER, ids(request.get_span_context()))
        assert opts_of(redis_client, job_id)["tm"] == tm_of(span)
        assert dict(span.attributes or {}) == {
            "messaging.system": "bullmq",
            "messaging.operation.name": "create",
            "messaging.operation.type": "create",
            "messaging.destination.name": "mail",
            "messaging.message.id": job_id,
            "server.address": "127.0.0.1",
            "server.port": server.port,
            "bullmq.queue.name": "mail",
            "bullmq.queue.prefix": "bull",
            "bullmq.queue.operation": "create",
            "bullmq.job.id": job_id,
            "bullmq.job.name": name,
        }
    send = watched.span("addBulk mail")
    assert (send.kind, links(send)) == (SpanKind.CLIENT, [ids(first.context), ids(second.context)])
    assert (send.attributes or {})["messaging.operation.type"] == "send"
    assert (send.attributes or {})["messaging.batch.message_count"] == 2
    assert first.end_time is not None
    assert second.end_time is not None
    assert send.start_time is not None
    assert max(first.end_time, second.end_time) <= send.start_time


async def test_bulk_and_flow_without_spans_of_each_job(server: Server, redis_client: redis.Redis) -> None:
    telescope = Telescope()
    with instrumented(telescope, create_spans=False):
        async with queue_on(server) as queue, flows_on(server) as flows:
            await queue.addBulk([{"name": name, "data": {}} for name in ("a", "b")])
            tree = await flows.add(_flow())
    bulk, flow = telescope.spans()
    assert (bulk.name, bulk.kind, flow.name, flow.kind) == (
        "addBulk mail",
        SpanKind.PRODUCER,
        "addFlow mail",
        SpanKind.PRODUCER,
    )
    assert [opts_of(redis_client, n)["tm"] for n in (1, 2)] == [tm_of(bulk)] * 2
    assert opts_of(redis_client, tree["job"].id)["tm"] == tm_of(flow)
    assert opts_of(redis_client, tree["children"][0]["job"].id, "parts")["tm"] == tm_of(flow)


def _flow() -> dict[str, object]:
    return {
        "name": "whole",
        "queueName": "mail",
        "data": {},
        "children": [
            {
                "name": "part",
                "queueName": "parts",
                "data": {},
                "opts": None,
                "children": [{"name": "piece", "queueName": "parts", "data": {}, "opts": {"priority": 2}}],
            },
            {"name": "other", "queueName": "parts", "data": {}},
        ],
    }


async def test_flow(server: Server, redis_client: redis.Redis, watched: Telescope) -> None:
    async with flows_on(server) as flows:
        tree = await flows.add(_flow())
    whole, part, piece, other = (
        watched.span(bullmq_job_name=name, messaging_operation_type="create")
        for name in ("whole", "part", "piece", "other")
    )
    assert [ids(s.parent) for s in (whole, part, piece, other)] == [
        None,
        *(ids(s.context) for s in (whole, part, whole)),
    ]
    send = watched.span("addFlow mail")
    assert links(send) == [ids(s.context) for s in (whole, part, piece, other)]
    assert (send.attributes or {})["messaging.batch.message_count"] == 4
    assert (send.attributes or {})["bullmq.flow.name"] == "whole"
    jobs = [
        ("mail", tree["job"], whole),
        ("parts", tree["children"][0]["job"], part),
        ("parts", tree["children"][0]["children"][0]["job"], piece),
        ("parts", tree["children"][1]["job"], other),
    ]
    for queue, job, span in jobs:
        assert opts_of(redis_client, job.id, queue)["tm"] == tm_of(span)
        assert (span.attributes or {})["messaging.message.id"] == job.id


async def test_several_flows(server: Server, redis_client: redis.Redis, watched: Telescope) -> None:
    async with flows_on(server) as flows:
        trees = await flows.addBulk([_flow(), {"name": "lone", "queueName": "parts", "data": {}, "prefix": "p"}])
    send = watched.span("addBulkFlows")
    assert "messaging.destination.name" not in (send.attributes or {})
    assert (send.attributes or {})["messaging.batch.message_count"] == 5
    lone = watched.span(bullmq_job_name="lone")
    stored = json.loads(redis_client.hget(f"p:parts:{trees[1]['job'].id}", "opts") or b"")
    assert stored["tm"] == tm_of(lone)
    assert (lone.attributes or {})["bullmq.queue.prefix"] == "p"
    assert (lone.attributes or {})["messaging.message.id"] == trees[1]["job"].id


async def test_defaults_of_a_flows_queues_count(server: Server, redis_client: redis.Redis, watched: Telescope) -> None:
    options = {"queuesOptions": {"mail": {"defaultJobOptions": {"omc": True}}}}
    async with flows_on(server) as flows:
        tree = await flows.add({"name": "lone", "queueName": "mail", "data": {}}, options)
    assert "tm" not in opts_of(redis_client, tree["job"].id)
    assert [span.name for span in watched.spans()] == ["addFlow mail"]


@pytest.mark.parametrize("relation", ["link", "parent"])
async def test_each_run_of_a_scheduler_is_a_trace_of_its_own(
    server: Server, redis_client: redis.Redis, relation: str
) -> None:
    telescope = Telescope()
    with instrumented(telescope, relation=relation):
        async with queue_on(server) as queue:
            first = await queue.upsertJobScheduler("nightly", {"every": 100}, "sweep", {})
            added = telescope.span("upsertJobScheduler mail")
            assert opts_of(redis_client, first.id)["tm"] == tm_of(added)
            await worked(server, _nothing, 2)
    assert (added.kind, (added.attributes or {})["messaging.message.id"]) == (SpanKind.PRODUCER, first.id)
    assert (added.attributes or {})["bullmq.job.scheduler.id"] == "nightly"
    runs = telescope.spans("process mail")[:2]
    assert [links(span) for span in runs] == [[ids(added.context)]] * 2
    assert len({span.context.trace_id for span in (added, *runs) if span.context}) == 3
    assert len(telescope.spans("upsertJobScheduler mail")) == 1  # what the worker adds is not the application's doing


# What is stored, and what the caller holds


def _dump(client: redis.Redis) -> dict[str, object]:
    """All that is stored, with moments left out, and `tm` too."""
    stored: dict[str, object] = {}
    for key in sorted(client.scan_iter("*")):
        match client.type(key):
            case b"hash":
                stored[key.decode()] = {k.decode(): _plain(k, v) for k, v in client.hgetall(key).items()}
            case b"stream":
                stored[key.decode()] = [fields for _, fields in client.xrange(key)]
            case b"list":
                stored[key.decode()] = client.lrange(key, 0, -1)
            case b"zset":
                stored[key.decode()] = client.zrange(key, 0, -1)
            case b"set":
                stored[key.decode()] = client.smembers(key)
            case _:
                stored[key.decode()] = client.get(key)
    return stored


def _plain(field: bytes, value: bytes) -> object:
    if field == b"opts":
        return {k: v for k, v in json.loads(value, parse_int=str, parse_float=str).items() if k != "tm"}
    return None if field in {b"processedOn", b"finishedOn"} else value


async def _application(server: Server, given: Mapping[str, object]) -> None:
    """Everything that can be traced, with ids and times that are the same each time."""
    opts: object = given["opts"]
    async with queue_on(server, defaultJobOptions={"attempts": 2}) as queue, flows_on(server) as flows:
        await queue.add("fails", {"n": 1}, {"jobId": "a", "timestamp": 1})
        await queue.add("added", {"ü": "🙂"}, opts)
        await queue.add(name="named", data=None, opts={"jobId": "c", "timestamp": 1, "deduplication": {"id": "d"}})
        await queue.add("later", [], {"jobId": "e", "timestamp": 1, "delay": 10**12, "backoff": 5})
        await queue.addBulk(given["bulk"])
        await flows.add(given["flow"])
        await flows.addBulk(flows=[given["flow2"]])
    await worked(server, _fails, 6)


async def _fails(job: Job, _token: str) -> object:
    if job.name == "fails":
        raise RuntimeError("as it must")
    return {"done": job.name}


async def _nothing(_job: Job, _token: str) -> None:
    """A processor for jobs that are nobody's business."""


def _given() -> dict[str, object]:
    def node(name: str, queue: str, *children: object, **opts: object) -> dict[str, object]:
        below = {"children": list(children)} if children else {}
        return {
            "name": name,
            "queueName": queue,
            "data": {"of": name},
            "opts": {"jobId": name, "timestamp": 1, **opts},
            **below,
        }

    return {
        "opts": {"jobId": "b", "timestamp": 1, "priority": 3, "removeOnFail": {"count": 5}, "keepLogs": 2},
        "bulk": [
            {"name": "bulk", "data": {}, "opts": {"jobId": "f", "timestamp": 1, "attempts": 7}},
            {"name": "bulk", "data": {}, "opts": {"jobId": "g", "timestamp": 1}},
        ],
        "flow": node("h", "other", node("i", "other", failParentOnFailure=True), node("j", "third", delay=5)),
        "flow2": node("k", "third"),
    }


async def test_what_is_stored_is_the_same_but_for_the_context(
    server: Server, redis_client: redis.Redis, telescope: Telescope
) -> None:
    await _application(server, _given())
    plain = _dump(redis_client)
    assert sum(1 for key in plain if key.count(":") == 2) > 15
    stack = redis_client.hget("bull:mail:a", "stacktrace") or b""
    assert b"as it must" in stack
    redis_client.flushall()
    with instrumented(telescope):
        await _application(server, _given())
    assert _dump(redis_client) == plain
    jobs = [f"mail:{n}" for n in "abcefg"] + ["other:h", "other:i", "third:j", "third:k"]
    assert [
        job for job in jobs if "tm" not in opts_of(redis_client, job.partition(":")[2], job[: job.index(":")])
    ] == []


async def test_what_the_caller_holds_is_not_changed(server: Server, watched: Telescope) -> None:
    given = _given()
    before = copy.deepcopy(given)
    repeat, opts = {"every": 10_000}, {"attempts": 2}
    await _application(server, given)
    async with queue_on(server) as queue:
        await queue.upsertJobScheduler("nightly", repeat, opts=opts)
    assert given == before
    assert (repeat, opts) == ({"every": 10_000}, {"attempts": 2})
    assert watched.spans("add mail")


async def test_an_iterator_of_jobs_is_read_once(server: Server, watched: Telescope) -> None:
    async with queue_on(server) as queue, flows_on(server) as flows:
        jobs = await queue.addBulk({"name": name, "data": {}} for name in "ab")
        trees = await flows.addBulk(iter([_flow()]))
    assert [job.name for job in jobs] == ["a", "b"]
    assert len(trees) == 1
    assert len(watched.spans("create mail")) == 3


async def test_wrong_calls_fail_as_they_would(server: Server, telescope: Telescope) -> None:
    async with queue_on(server) as queue, flows_on(server) as flows:
        calls: list[Callable[[], Awaitable[object]]] = [
            queue.add,
            lambda: queue.add("a", {}, {}, 4),
            lambda: queue.add("a", {}, 7),
            lambda: queue.add("a", {1, 2}),
            lambda: queue.addBulk(None),
            lambda: queue.addBulk([1]),
            lambda: queue.upsertJobScheduler("s", {}),
            lambda: flows.add({"name": "a", "queueName": "q", "opts": None}),
            lambda: flows.add(None),
            lambda: flows.add({"name": "a", "queueName": "q", "children": None}),
        ]
        plain = [await _failure(call) for call in calls]
        assert None not in plain
        with instrumented(telescope):
            assert [await _failure(call) for call in calls] == plain


async def _failure(call: Callable[[], Awaitable[object]]) -> str | None:
    try:
        await call()
    except Exception as exc:  # noqa: BLE001  # whatever BullMQ raises is what is compared
        return repr(exc)
    return None


async def test_a_producer_that_is_closed_answers_nothing(server: Server, watched: Telescope) -> None:
    async with flows_on(server) as flows:
        await flows.close()
        assert (await flows.add(_flow()), await flows.addBulk([_flow()])) == (None, None)
    assert watched.spans() == []


# Workers


async def test_process_is_linked_to_its_producer(server: Server, watched: Telescope) -> None:
    inside: list[tuple[int, int] | None] = []

    async def processor(job: Job, _token: str) -> str:
        inside.append(ids(trace.get_current_span().get_span_context()))
        async with queue_on(server, "next") as queue:
            await queue.add("follow-up", {})
        return f"done {job.name}"

    async with queue_on(server) as queue:
        with watched.tracer.start_as_current_span("start-up"):
            await queue.add("welcome", {})
            worker = await worked(server, processor, 1, name="w1")
        job = await Job.fromId(queue, "1")
    span, producer = watched.span("process mail"), watched.span("add mail")
    assert (span.kind, span.parent, links(span)) == (SpanKind.CONSUMER, None, [ids(producer.context)])
    assert [dict(link.attributes or {}) for link in span.links] == [{"bullmq.link": "producer"}]
    assert dict(span.attributes or {}) == {
        "messaging.system": "bullmq",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "mail",
        "messaging.message.id": "1",
        "server.address": "127.0.0.1",
        "server.port": server.port,
        "bullmq.queue.name": "mail",
        "bullmq.queue.prefix": "bull",
        "bullmq.queue.operation": "process",
        "bullmq.job.id": "1",
        "bullmq.job.name": "welcome",
        "bullmq.job.attempts.made": 0,
        "bullmq.job.attempts.started": 1,
        "bullmq.worker.id": worker.id,
        "bullmq.worker.name": "w1",
    }
    assert span.status.status_code is StatusCode.UNSET
    assert inside == [ids(span.context)]
    assert ids(watched.span("add next").parent) == ids(span.context)
    assert job.returnvalue == "done welcome"


async def test_the_first_run_can_be_a_child_of_its_producer(server: Server, telescope: Telescope) -> None:
    with instrumented(telescope, relation="parent"):
        async with queue_on(server) as queue:
            await queue.add("fails", {}, {"attempts": 2})
        await worked(server, _fails, 2)
    (first, second), producer = telescope.spans("process mail"), telescope.span("add mail")
    assert (ids(first.parent), links(first)) == (ids(producer.context), [])
    assert (ids(second.parent), links(second)) == (None, [ids(producer.context)])


@pytest.mark.parametrize("relation", ["link", "parent"])
@pytest.mark.parametrize("tm", [None, "", "{", "[]", '{"traceparent":"00-0-0-01"}', 7, {"traceparent": 1}])
async def test_a_context_that_is_none(server: Server, telescope: Telescope, relation: str, tm: object) -> None:
    async with queue_on(server) as queue:
        await queue.add("welcome", {}, {"tm": tm})
    with instrumented(telescope, relation=relation):
        await worked(server, _nothing, 1)
    span = telescope.span()
    assert (span.name, span.parent, links(span)) == ("process mail", None, [])


async def test_attempts_that_fail(server: Server, watched: Telescope) -> None:
    async def processor(job: Job, _token: str) -> str:
        if job.attemptsMade == 0:
            raise KeyError("not yet")
        return "at last"

    async with queue_on(server) as queue:
        await queue.add("welcome", {}, {"attempts": 2})
        await worked(server, processor, 2)
        job = await Job.fromId(queue, "1")
    first, second = watched.spans("process mail")
    assert (first.status.status_code, (first.attributes or {})["error.type"]) == (StatusCode.ERROR, "KeyError")
    (event,) = first.events
    assert (event.attributes or {})["exception.type"] == "KeyError"
    assert (second.status.status_code, second.events) == (StatusCode.UNSET, ())
    assert [(span.attributes or {})["bullmq.job.attempts.made"] for span in (first, second)] == [0, 1]
    assert links(first) == links(second) == [ids(watched.span("add mail").context)]
    assert (job.returnvalue, job.attemptsMade) == ("at last", 2)


async def test_a_job_that_must_not_be_tried_again_is_an_error(server: Server, watched: Telescope) -> None:
    async def processor(_job: Job, _token: str) -> None:
        raise UnrecoverableError("never")

    async with queue_on(server) as queue:
        await queue.add("welcome", {}, {"attempts": 5})
        await worked(server, processor, 1)
        assert await queue.getFailedCount() == 1
    span = watched.span("process mail")
    assert (span.status.status_code, (span.attributes or {})["error.type"]) == (StatusCode.ERROR, "UnrecoverableError")


async def test_a_job_that_steps_aside_is_no_error(server: Server, watched: Telescope) -> None:
    async def processor(job: Job, token: str) -> str:
        if job.name == "delays" and job.attemptsStarted == 1:
            await job.moveToDelayed(job.timestamp, token)
            raise DelayedError
        if job.name == "waits" and job.attemptsStarted == 1:
            async with queue_on(server) as queue:
                parent = {"id": job.id, "queue": queue.qualifiedName}
                await queue.add("child", {}, {"parent": parent})
            assert await job.moveToWaitingChildren(token, {})
            raise WaitingChildrenError
        return job.name

    async with queue_on(server) as queue:
        await queue.add("delays", {})
        await queue.add("waits", {})
        await worked(server, processor, 3)
        assert await queue.getCompletedCount() == 3
    spans = watched.spans("process mail")
    assert Counter((s.attributes or {})["bullmq.job.name"] for s in spans) == {"delays": 2, "waits": 2, "child": 1}
    assert {(s.status.status_code, len(s.events)) for s in spans} == {(StatusCode.UNSET, 0)}


async def test_a_run_that_is_cancelled(server: Server, watched: Telescope) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def processor(_job: Job, _token: str) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with queue_on(server) as queue:
        await queue.add("welcome", {})
    worker = Worker("mail", processor, {"connection": server.url, "autorun": False})
    running = asyncio.ensure_future(worker.run())
    async with asyncio.timeout(10):
        await started.wait()
        tasks = set(worker.processing)
        await worker.close(force=True)
        await cancelled.wait()
        await asyncio.wait([*tasks, running])
    span = watched.span("process mail")
    assert (span.status.status_code, span.events) == (StatusCode.UNSET, ())


async def test_a_processor_that_wants_a_signal_gets_it(server: Server, watched: Telescope) -> None:
    async def processor(_job: Job, _token: str, signal: object) -> str:
        return type(signal).__name__

    async with queue_on(server) as queue:
        await queue.add("welcome", {})
        worker = await worked(server, processor, 1)
        assert (await Job.fromId(queue, "1")).returnvalue == "AbortSignal"
    assert worker.processor is processor
    assert watched.spans("process mail")


async def test_a_value_that_cannot_be_stored_is_an_error(server: Server, watched: Telescope) -> None:
    async def processor(_job: Job, _token: str) -> object:
        return object()

    async with queue_on(server) as queue:
        await queue.add("welcome", {})
        await worked(server, processor, 1)
        assert await queue.getFailedCount() == 1
    assert (watched.span("process mail").attributes or {})["error.type"] == "TypeError"


async def test_another_job_may_fail_in_the_middle_of_a_run(server: Server, watched: Telescope) -> None:
    async with queue_on(server) as queue:
        await queue.addBulk([{"name": name, "data": {}} for name in ("a", "b")])
        by_hand = Worker("mail", None, {"connection": server.url})

        async def processor(_job: Job, _token: str) -> None:
            other = await by_hand.getNextJob("by hand")
            await other.moveToFailed(ValueError("other"), "by hand")

        await worked(server, processor, 1)
        await by_hand.close()
        assert (await queue.getCompletedCount(), await queue.getFailedCount()) == (1, 1)
    assert watched.span("process mail").status.status_code is StatusCode.UNSET


async def test_what_was_current_is_current_again(server: Server, watched: Telescope) -> None:
    worker = Worker("mail", _fails, {"connection": server.url, "autorun": False})
    async with queue_on(server) as queue:
        with watched.tracer.start_as_current_span("request") as request:
            await queue.add("fails", {})
            with pytest.raises(AttributeError):
                await queue.addBulk([1])
            assert trace.get_current_span() is request
            await worker.processJob(await worker.getNextJob("t"), "t")
            assert trace.get_current_span() is request
    await worker.close()
    assert watched.span("process mail").status.status_code is StatusCode.ERROR


async def test_runs_at_the_same_time_keep_apart(server: Server, watched: Telescope) -> None:
    gate = asyncio.Barrier(4)

    async def processor(job: Job, _token: str) -> None:
        await gate.wait()
        trace.get_current_span().set_attribute("seen", job.name)
        if job.name == "2":
            raise ValueError

    async with queue_on(server) as queue:
        await queue.addBulk([{"name": str(n), "data": {}} for n in range(4)])
    await worked(server, processor, 4, concurrency=4)
    spans = watched.spans("process mail")
    assert all((s.attributes or {})["seen"] == (s.attributes or {})["bullmq.job.name"] for s in spans)
    failed = [(s.attributes or {})["seen"] for s in spans if s.status.status_code is StatusCode.ERROR]
    assert (len(spans), failed) == (4, ["2"])


async def test_subclasses_are_traced_once(server: Server, watched: Telescope) -> None:
    class OwnQueue(Queue):  # type: ignore[misc]
        async def add(self, name: str, data: object) -> Job:
            return await super().add(f"own-{name}", data, {"attempts": 1})

    class OwnWorker(Worker):  # type: ignore[misc]
        async def processJob(self, job: Job, token: str) -> None:  # noqa: N802  # BullMQ's name
            await super().processJob(job, token)

    queue = OwnQueue("mail", {"connection": server.url})
    job = await queue.add("welcome", {})
    await queue.close()
    done = asyncio.Event()
    worker = OwnWorker("mail", _nothing, {"connection": server.url})
    worker.on("completed", lambda *_: done.set())
    async with asyncio.timeout(10):
        await done.wait()
    await worker.close()
    assert job.name == "own-welcome"
    assert [span.name for span in watched.spans()] == ["add mail", "process mail"]


# On, off, and broken

METHODS = (
    (Queue, "add"),
    (Queue, "addBulk"),
    (Queue, "upsertJobScheduler"),
    (JobScheduler, "upsertJobScheduler"),
    (FlowProducer, "add"),
    (FlowProducer, "addBulk"),
    (Worker, "processJob"),
    (Job, "moveToFailed"),
)


async def test_uninstrumented_classes_are_the_very_ones_of_before(server: Server, telescope: Telescope) -> None:
    classes = {owner for owner, _ in METHODS}
    before = {owner: dict(vars(owner)) for owner in classes}
    with instrumented(telescope):
        assert {
            owner for owner in classes for name, was in before[owner].items() if vars(owner)[name] is not was
        } == classes
        async with queue_on(server) as queue:
            await queue.add("welcome", {})
    for owner in classes:
        assert vars(owner).keys() == before[owner].keys()
        assert [name for name, value in vars(owner).items() if value is not before[owner][name]] == []
    async with queue_on(server) as queue:
        await queue.add("welcome", {})
    assert len(telescope.spans()) == 1


async def test_instrumenting_twice_is_instrumenting_once(server: Server, watched: Telescope) -> None:
    BullMQInstrumentor().instrument(tracer_provider=watched.provider)
    async with queue_on(server) as queue:
        await queue.add("welcome", {})
    assert len(watched.spans()) == 1


async def test_a_worker_that_was_there_before_is_traced(server: Server, telescope: Telescope) -> None:
    done: asyncio.Queue[None] = asyncio.Queue()
    worker = Worker("mail", _nothing, {"connection": server.url})
    worker.on("completed", lambda *_: done.put_nowait(None))
    async with queue_on(server) as queue, asyncio.timeout(10):
        for _ in range(2):  # with, and without
            with instrumented(telescope):
                await queue.add("welcome", {})
                await done.get()
            await queue.add("welcome", {})
            await done.get()
    await worker.close()
    assert Counter(span.name for span in telescope.spans()) == {"add mail": 2, "process mail": 2}


async def test_suppressed(server: Server, redis_client: redis.Redis, watched: Telescope) -> None:
    async with queue_on(server) as queue, flows_on(server) as flows:
        with suppress_instrumentation():
            await queue.add("welcome", {})
            await queue.addBulk([{"name": "welcome", "data": {}}])
            await flows.add(_flow())
            await worked(server, _nothing, 2)
    assert watched.spans() == []
    assert "tm" not in opts_of(redis_client, 1)


class Broken:
    """A tracer, a span or a propagator that fails at whatever it is asked."""

    def __init__(self, *works: str) -> None:
        self.calls: Counter[str] = Counter()
        self._works = works

    def __getattr__(self, name: str) -> object:
        def method(*_args: object, **_kwargs: object) -> Broken:
            self.calls[name] += 1
            if name not in self._works:
                raise RuntimeError(f"{name} is broken")
            return self

        return method


@pytest.mark.parametrize("works", [("get_tracer",), ("get_tracer", "start_span")], ids=["tracer", "span"])
async def test_broken_telemetry_breaks_nothing(
    server: Server, redis_client: redis.Redis, works: tuple[str, ...]
) -> None:
    await _application(server, _given())
    plain = _dump(redis_client)
    redis_client.flushall()
    broken = Broken(*works)
    BullMQInstrumentor().instrument(tracer_provider=broken)
    try:
        await _application(server, _given())
    finally:
        BullMQInstrumentor().uninstrument()
    assert broken.calls["start_span"] > 10
    assert _dump(redis_client) == plain


async def test_a_broken_propagator_breaks_nothing(
    server: Server, redis_client: redis.Redis, watched: Telescope, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Broken()
    monkeypatch.setattr("opentelemetry.propagate._HTTP_TEXT_FORMAT", broken)
    async with queue_on(server) as queue:
        await queue.add("welcome", {})
        await queue.add("welcome", {}, {"tm": TM})
        await worked(server, _nothing, 2)
        assert await queue.getCompletedCount() == 2
    assert broken.calls["inject"] == 1
    assert broken.calls["extract"] == 2  # as the second is added, and as it is processed
    assert "tm" not in opts_of(redis_client, 1)
    assert len(watched.spans("process mail")) == 2


PROGRAM = """
import asyncio, sys
from bullmq import Queue, Worker
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

provider = TracerProvider()
line = lambda span: f"{span.name} {len(span.links)} {span.parent is not None}\\n"
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(formatter=line)))
trace.set_tracer_provider(provider)

async def main():
    queue = Queue("mail", {"connection": sys.argv[1]})
    await queue.addBulk([{"name": "a", "data": {}}])
    done = asyncio.Event()
    async def processor(job, token): pass
    worker = Worker("mail", processor, {"connection": sys.argv[1]})
    worker.on("completed", lambda *_: done.set())
    await asyncio.wait_for(done.wait(), 10)
    await worker.close()
    await queue.close()

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("environment", "printed"),
    [
        ({}, ["create mail 0 False", "addBulk mail 1 False", "process mail 1 False"]),
        (
            {"OTEL_PYTHON_BULLMQ_RELATION": "parent", "OTEL_PYTHON_BULLMQ_CREATE_SPANS": "false"},
            ["addBulk mail 0 False", "process mail 0 True"],
        ),
        ({"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "bullmq"}, []),
    ],
    ids=["as it comes", "set", "switched off"],
)
def test_an_application_that_knows_nothing_of_it(
    server: Server, tmp_path: Path, environment: dict[str, str], printed: list[str]
) -> None:
    (tmp_path / "application.py").write_text(PROGRAM)
    command = [Path(sys.executable).with_name("opentelemetry-instrument"), sys.executable, "application.py", server.url]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (run.returncode, run.stdout.splitlines()) == (0, printed), run.stderr
