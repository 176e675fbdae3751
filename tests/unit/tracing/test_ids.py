"""Ids: the same for the same run, other ones for any other, and never 0."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.model.keys import queue_id
from qobserve.model.run import Card, Outcome, Run
from qobserve.tracing import ids
from qobserve.tracing.ids import Facts, facts_of, job_half, span_id, trace_id
from qobserve.tracing.options import SpanOptions

FACTS = Facts(key="bull:mail:7", added_ms=5, attempt=1, moment_ms=9)
SERVER = "redis.example:6379"
LOW = 2**64 - 1


def test_an_id_is_made_as_the_page_says() -> None:
    def made(*lines: str) -> int:
        return int(sha256("\n".join(["qobserve.spans.1", *lines]).encode()).hexdigest()[:16], 16)

    assert span_id(FACTS, "process", SERVER) == made("process", "attempt 1", "added 5", SERVER, "bull:mail:7")
    high, low = (
        made("trace", "attempt 1", "added 5", SERVER, "bull:mail:7"),
        made("job", "", "added 5", SERVER, "bull:mail:7"),
    )
    assert trace_id(FACTS, SERVER) == (high << 64) + low


@pytest.mark.parametrize(
    ("facts", "job", "run"),
    [
        (Facts(key="q", added_ms=5, attempt=1, moment_ms=9, card=Card(timestamp_ms=4)), "added 5", "attempt 1"),
        (Facts(key="q", added_ms=5, attempt=None, moment_ms=9), "added 5", "moment 9"),
        (Facts(key="q", added_ms=None, attempt=2, card=Card(timestamp_ms=4)), "timestamp 4", "attempt 2"),
        (Facts(key="q", added_ms=None, moment_ms=9, card=Card()), "run 9", "moment 9"),
        (Facts(key="b:q:repeat:s:1796035293000", added_ms=5, attempt=1), "iteration", "attempt 1"),
        (Facts(key="b:q:repeat:s", added_ms=5, attempt=1), "added 5", "attempt 1"),  # the scheduler's own key
        (Facts(key="b:q:repeat:s:1796035293000", job="repeat:s:1796035293000", added_ms=5), "iteration", "moment None"),
        (Facts(key="b:repeat:17:1796035293000", job="17:1796035293000", added_ms=5, attempt=1), "added 5", "attempt 1"),
    ],
)
def test_an_id_rests_on_the_best_that_is_known(facts: Facts, job: str, run: str) -> None:
    lines = f"qobserve.spans.1\nwait\n{run}\n{job}\n{SERVER}\n{facts.key}"
    assert span_id(facts, "wait", SERVER) == int(sha256(lines.encode()).hexdigest()[:16], 16)


def test_runs_of_a_job_share_half_a_trace_id_and_nothing_else() -> None:
    first, second = FACTS, Facts(key=FACTS.key, added_ms=5, attempt=2)
    assert trace_id(first, SERVER) & LOW == trace_id(second, SERVER) & LOW == job_half(first, SERVER)
    assert trace_id(first, SERVER) >> 64 != trace_id(second, SERVER) >> 64
    assert span_id(first, "wait", SERVER) != span_id(second, "wait", SERVER)


def test_a_job_that_comes_again_under_its_id_is_another() -> None:
    again = Facts(key=FACTS.key, added_ms=6, attempt=1)
    assert trace_id(FACTS, SERVER) & LOW != trace_id(again, SERVER) & LOW


def test_jobs_of_two_servers_share_no_id() -> None:
    iteration = Facts(key="b:q:repeat:s:1796035293000", added_ms=5, attempt=1)
    other = SpanOptions(server_address="redis.example", server_port=6380).server
    assert SpanOptions(server_address="redis.example", server_port=6379).server == SERVER
    assert span_id(iteration, "wait", SERVER) != span_id(iteration, "wait", other)
    assert trace_id(iteration, SERVER) >> 64 != trace_id(iteration, other) >> 64
    assert job_half(iteration, SERVER) != job_half(iteration, other)


def test_what_each_observer_learned_in_addition_makes_no_difference() -> None:
    other = Facts(key=FACTS.key, added_ms=5, attempt=1, moment_ms=None, card=Card(timestamp_ms=3, attempts_started=1))
    assert (trace_id(other, SERVER), span_id(other, "wait", SERVER)) == (
        trace_id(FACTS, SERVER),
        span_id(FACTS, "wait", SERVER),
    )


@given(st.lists(st.builds(Facts, key=st.text(max_size=8), added_ms=st.integers(0, 3)), unique=True, max_size=30))
def test_no_two_jobs_share_an_id_however_they_are_called(facts: list[Facts]) -> None:
    assert (
        len({trace_id(one, SERVER) for one in facts})
        == len({span_id(one, "wait", SERVER) for one in facts})
        == len(facts)
    )


def test_an_id_is_never_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key is known whose hash begins with eight zeros, so the hash is one here that gives nothing else."""

    class Zeros:
        def __init__(self, _: bytes) -> None:
            """It hashes nothing."""

        def digest(self) -> bytes:
            return bytes(32)

    monkeypatch.setattr(ids, "sha256", Zeros)
    assert (trace_id(FACTS, SERVER), span_id(FACTS, "wait", SERVER)) == (1, 1)


def test_the_scheduler_of_an_iteration_is_in_its_key() -> None:
    one = Facts(key="bull:mail:repeat:a:b:1796035293000", added_ms=None)
    assert (one.scheduler, one.iteration_ms) == ("bull:mail:repeat:a:b", 1796035293000)
    assert (FACTS.scheduler, FACTS.iteration_ms) == (None, None)


def test_a_queue_called_repeat_holds_no_iterations() -> None:
    run = Run(
        queue=queue_id("bull", "repeat"), job="order:7:4915112345678", live=True, outcome=Outcome.COMPLETED, ended_ms=9
    )
    assert (facts_of(run).scheduler, facts_of(run).iteration_ms) == (None, None)
    assert facts_of(replace(run, job="repeat:x:1796035293000")).scheduler == "bull:repeat:repeat:x"
