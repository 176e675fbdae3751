"""A tracer that ends in mid-flow and begins again loses no run, and tells none twice under another id."""

from __future__ import annotations

import contextlib
import signal
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.otlp import receiving
from rig.performance import tracing_alone
from rig.told import OURS, job_of
from rig.traced import tracing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import redis
    from rig.child import Child
    from rig.drivers import Driver
    from rig.otlp import OtlpReceiver
    from rig.servers import Server

# Enough for the first tracer to be in the middle of them when it ends.
BEFORE, MEANWHILE, AFTER = 20, 30, 10
SCRIPT = {"*": {"sleep": 20}, "again": {"sleep": 20, "fail": 1}}
ENDS = {"ended": signal.SIGTERM, "killed": signal.SIGKILL}


def add(driver: Driver, first: int, count: int, *, removed: bool) -> None:
    """Jobs of which each third is retried once."""
    for number in range(first, first + count):
        opts = {"jobId": f"j-{number}", "attempts": 2, "removeOnComplete": removed}
        driver.call("add", queue="mail", name="job" if number % 3 else "again", opts=opts)


def wanted(count: int) -> set[tuple[str, int]]:
    """Every run of so many jobs."""
    return {(f"j-{number}", attempt) for number in range(count) for attempt in ((1,) if number % 3 else (1, 2))}


def told(receiver: OtlpReceiver) -> set[tuple[str, int]]:
    """Every run that was told."""
    return {
        (job_of(span), int(str(span.attributes["bullmq.job.attempts.started"])))
        for span in receiver.spans
        if span.resource["service.name"] == OURS and span.name == "process mail"
    }


def ids(receiver: OtlpReceiver) -> dict[tuple[str, str, object], set[tuple[str, str]]]:
    """Under which ids each span of ours was told."""
    found = defaultdict(set)
    for span in receiver.spans:
        if span.resource["service.name"] == OURS:
            of = (span.name, job_of(span), span.attributes.get("bullmq.job.attempts.started"))
            found[of].add((span.trace_id, span.span_id))
    return found


@contextlib.contextmanager
def tracer(server: Server, receiver: OtlpReceiver, relation: str, checkpoint: Path | None) -> Iterator[Child]:
    words = ["--redis.url", server.url, "--queues.static", "mail", "--tracing.relation", relation]
    words += [] if checkpoint is None else ["--follow.checkpoint-file", str(checkpoint)]
    with tracing_alone(*words, "--tracing.otlp-endpoint", receiver.http_endpoint) as child:
        yield child


def ended_before(receiver: OtlpReceiver, ns: int) -> set[tuple[str, int]]:
    """First runs that had ended by then, as the worker's own spans tell."""
    own = (span for span in receiver.spans if span.kind == "consumer" and span.resource["service.name"] != OURS)
    return {(job_of(span), 1) for span in own if span.end_ns < ns}


def may_be_lost(receiver: OtlpReceiver, case: Case, killed_ns: int, again_ns: int) -> set[tuple[str, int]]:
    """What docs/tracing.md says of removed jobs under `parent`; anything else is told in any case."""
    if case.relation == "link" or not case.removed:
        return set()
    if not case.checkpoint:
        return ended_before(receiver, again_ns)
    return ended_before(receiver, killed_ns) if case.end == "killed" else set()


@dataclass(frozen=True, slots=True)
class Case:
    """What a restart may depend on."""

    end: str
    checkpoint: bool
    relation: str
    removed: bool

    def __str__(self) -> str:
        """Its name among the tests."""
        words = (self.end, "with a checkpoint" if self.checkpoint else "with none", self.relation)
        return ", ".join((*words, "removed jobs" if self.removed else "jobs that stay"))


ALL = [Case(*each) for each in product(ENDS, (True, False), ("link", "parent"), (False, True))]
TELLING = {
    "ended, with a checkpoint, parent, removed jobs",
    "ended, with none, link, jobs that stay",
    "killed, with a checkpoint, link, removed jobs",
    "killed, with none, parent, removed jobs",
}


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=str(case), marks=() if str(case) in TELLING else pytest.mark.slow) for case in ALL]
)
def test_a_restart_in_mid_flow(server: Server, redis_client: redis.Redis, tmp_path: Path, case: Case) -> None:
    checkpoint = tmp_path / "checkpoint.json" if case.checkpoint else None
    with receiving() as receiver, tracing("node-6.7.0", server, receiver.http_endpoint) as driver:
        driver.call("work", worker="w", queue="mail", script=SCRIPT, concurrency=2)
        with tracer(server, receiver, case.relation, checkpoint) as first:
            add(driver, 0, BEFORE, removed=case.removed)
            wait_until(lambda: len(told(receiver)) >= BEFORE // 2, "the first half to be told")
            wait_until(lambda: checkpoint is None or checkpoint.exists(), "the checkpoint")
            add(driver, BEFORE, MEANWHILE, removed=case.removed)
            first.signal(ENDS[case.end])
            first.process.wait(10)
        killed_ns = time.time_ns()
        wait_until(lambda: is_done(redis_client), "the jobs to end meanwhile", timeout=20)
        assert len(told(receiver)) < len(wanted(BEFORE + MEANWHILE)), "it was in mid-flow"
        again_ns = time.time_ns()
        with tracer(server, receiver, case.relation, checkpoint) as second:
            add(driver, BEFORE + MEANWHILE, AFTER, removed=case.removed)
            all_runs = wanted(BEFORE + MEANWHILE + AFTER)
            last_runs = all_runs - wanted(BEFORE + MEANWHILE)
            wait_until(lambda: told(receiver) >= last_runs, "the last ones to be told", timeout=20)
            assert second.terminate() == 0
    lost = all_runs - told(receiver)
    assert lost <= may_be_lost(receiver, case, killed_ns, again_ns)
    assert told(receiver) <= all_runs
    assert {of: several for of, several in ids(receiver).items() if len(several) > 1} == {}


def is_done(client: redis.Redis) -> bool:
    """Whether no job is open."""
    lists = sum(client.llen(f"bull:mail:{state}") for state in ("wait", "active"))
    return lists + client.zcard("bull:mail:delayed") == 0
