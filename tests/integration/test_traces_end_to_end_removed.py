"""Jobs that are removed as they complete: traced whole where their hash could be read, under the same ids where not."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

from rig.child import wait_until
from rig.otlp import receiving
from rig.performance import tracing_alone
from rig.told import OURS, job_of
from rig.traced import tracing

if TYPE_CHECKING:
    import redis
    from rig.otlp import OtlpReceiver
    from rig.otlp_spans import ReceivedSpan
    from rig.servers import Server

JOBS = 10
FAMILY = {"producer", "earlier attempt", "earlier iteration", "parent", "child"}


def told(receiver: OtlpReceiver) -> dict[tuple[str, str], ReceivedSpan]:
    return {(span.name, job_of(span)): span for span in receiver.spans if span.resource["service.name"] == OURS}


def links(spans: dict[tuple[str, str], ReceivedSpan]) -> set[object]:
    return {link.attributes["bullmq.link"] for span in spans.values() for link in span.links}


def test_who_came_too_late_for_the_hash_gives_the_same_spans_and_no_links(
    server: Server, redis_client: redis.Redis
) -> None:
    with contextlib.ExitStack() as stage:
        seen, missed, application = (stage.enter_context(receiving()) for _ in range(3))
        words = ("--redis.url", server.url, "--queues.static", "mail", "--tracing.otlp-endpoint")
        stage.enter_context(tracing_alone(*words, seen.http_endpoint))
        late = stage.enter_context(tracing_alone(*words, missed.http_endpoint))
        driver = stage.enter_context(tracing("node-6.7.0", server, application.http_endpoint))
        driver.call("add", queue="mail", name="first", opts={"jobId": "first"})
        driver.call("work", worker="w", queue="mail", script={"*": {"sleep": 400}}, concurrency=JOBS)
        for receiver in (seen, missed):
            wait_until(lambda each=receiver: ("process mail", "first") in told(each), "both to be there")  # type: ignore[misc] # mypy does not see the default
        late.signal(signal.SIGSTOP)
        for number in range(JOBS):
            opts = {"jobId": f"j-{number}", "removeOnComplete": True}
            driver.call("add", queue="mail", name="gone", opts=opts)
        wait_until(lambda: sum(name == "process mail" for name, _ in told(seen)) > JOBS, "all to be told")
        assert redis_client.keys("bull:mail:j-*") == []
        late.signal(signal.SIGCONT)
        wait_until(lambda: sum(name == "process mail" for name, _ in told(missed)) > JOBS, "all to be told, late")
    whole, bare = told(seen), told(missed)
    assert whole.keys() == bare.keys()
    assert len(whole) == 2 * (JOBS + 1)
    for key, span in whole.items():
        other = bare[key]
        assert (span.trace_id, span.span_id, span.parent_span_id) == (
            other.trace_id,
            other.span_id,
            other.parent_span_id,
        )
        assert (span.start_ns, span.end_ns, span.status) == (other.start_ns, other.end_ns, other.status)
        assert span.attributes["bullmq.job.name"] == other.attributes["bullmq.job.name"]
    del bare["process mail", "first"]
    assert (links(whole), links(bare)) == ({"producer"}, set())
