"""Spans reach a real OTLP endpoint; one that is down, slow or talks nonsense costs the spans only, and is told once."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.otlp import Behaviour, receiving
from rig.proxy import answering

from qobserve import __version__
from qobserve.config.following import TracingSettings
from qobserve.tracing.description import Kind, SpanDescription, SpanEvent, SpanLink, Status
from qobserve.tracing.emitter import Pace
from qobserve.tracing.provider import build

if TYPE_CHECKING:
    from collections.abc import Iterator
    from logging import LogRecord
    from pathlib import Path

    from rig.certificates import Certificates
    from rig.otlp import OtlpReceiver

    from qobserve.tracing.emitter import Emitter

PROTOCOLS = ("http/protobuf", "grpc")
SWIFT = Pace(batch=10, linger=0.01, tries=2, first_rest=0.05, longest_rest=0.1, longest_wait=5, steady=0.3)
PATIENT = replace(SWIFT, tries=100)
NOTHING = {"queue_full": 0, "refused": 0, "failed": 0}

FULL = SpanDescription(
    trace_id=0x0AF7651916CD43DD8448EB211C80319C,
    span_id=0x00F067AA0BA902B7,
    parent_span_id=0x0000000000000001,
    name="process mail",
    kind=Kind.CONSUMER,
    start_ns=1_700_000_000_123_000_000,
    end_ns=1_700_000_001_456_000_000,
    attributes={"messaging.system": "bullmq", "n": 3, "share": 0.5, "last": True, "words": ("a", "ü")},
    status=Status.ERROR,
    events=(SpanEvent(name="job stalled", ns=1_700_000_000_500_000_000, attributes={"times": 1}),),
    links=(SpanLink(trace_id=7, span_id=8, attributes={"why": "producer"}),),
    trace_state="vendor=value,other=1",
)


def span(number: int) -> SpanDescription:
    return SpanDescription(
        trace_id=number + 1, span_id=number + 1, parent_span_id=None, name="process q", kind=Kind.INTERNAL,
        start_ns=1, end_ns=2,
    )  # fmt: skip


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with receiving() as started:
        yield started


@contextlib.contextmanager
def exporting(
    endpoint: str, protocol: str, *, pace: Pace = SWIFT, environ: dict[str, str] | None = None, **more: object
) -> Iterator[Emitter]:
    values = {"otlp_endpoint": endpoint, "otlp_protocol": protocol, "otlp_timeout": 0.5, **more}
    export = build(TracingSettings.model_validate(values), environ or {}, pace=pace)
    assert export is not None
    export.emitter.start()
    try:
        yield export.emitter
    finally:
        export.emitter.close(5)


def settle(emitter: Emitter) -> None:
    wait_until(lambda: emitter.counts().pending == 0, "all spans to be sent or given up")


def dropped(emitter: Emitter) -> dict[str, int]:
    return {reason: count for reason, count in emitter.counts().dropped.items() if count}


def lines(caplog: pytest.LogCaptureFixture, message: str) -> list[LogRecord]:
    return [record for record in caplog.records if record.message == message]


def only_trouble(caplog: pytest.LogCaptureFixture) -> tuple[str, str]:
    """Reason and error of the one line that a person sees; none of a library's, and no traceback."""
    (line,) = (record for record in caplog.records if record.levelname != "DEBUG")
    assert (line.name, line.message) == ("qobserve.tracing", "spans cannot be exported")
    assert not [record for record in caplog.records if record.exc_info]
    reason, error = line.__dict__["reason"], line.__dict__["error"]
    assert error
    assert "encoded" not in error
    return reason, error


def test_a_span_arrives_whole(receiver: OtlpReceiver, protocol: str) -> None:
    with exporting(receiver.endpoint(protocol), protocol) as emitter:
        emitter.offer(FULL)
        (got,) = receiver.wait_for(1)
    assert (got.trace_id, got.span_id, got.parent_span_id) == (
        "0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7", "0000000000000001",
    )  # fmt: skip
    assert (got.name, got.kind, got.status) == ("process mail", "consumer", "error")
    assert (got.start_ns, got.end_ns) == (1_700_000_000_123_000_000, 1_700_000_001_456_000_000)
    assert got.attributes == {
        "messaging.system": "bullmq", "n": 3, "share": 0.5, "last": True, "words": ["a", "ü"],
    }  # fmt: skip
    assert got.trace_state == "vendor=value,other=1"
    assert [(each.name, each.ns, each.attributes) for each in got.events] == [
        ("job stalled", 1_700_000_000_500_000_000, {"times": 1})
    ]
    assert [(int(each.trace_id, 16), int(each.span_id, 16), each.attributes) for each in got.links] == [
        (7, 8, {"why": "producer"})
    ]
    assert (got.scope, got.scope_version) == ("qobserve", __version__)
    assert got.resource["service.name"] == "qobserve"
    assert [request.protocol for request in receiver.requests] == [protocol]


def test_many_spans_go_in_batches_and_none_is_lost(receiver: OtlpReceiver, protocol: str) -> None:
    with exporting(receiver.endpoint(protocol), protocol) as emitter:
        for number in range(95):
            emitter.offer(span(number))
    assert [int(got.span_id, 16) for got in receiver.spans] == list(range(1, 96))
    assert {len(request.spans) for request in receiver.requests} <= set(range(1, 11))
    assert emitter.counts().exported == 95
    assert emitter.counts().dropped == NOTHING


def test_variables_alone_are_enough(receiver: OtlpReceiver, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint(protocol),
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_SERVICE_NAME": "shop",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    export = build(TracingSettings(), environ)
    assert export is not None
    export.emitter.offer(FULL)
    export.emitter.start()
    export.emitter.close(5)
    (request,) = receiver.requests
    assert request.headers["x-key"] == "a b"
    # gRPC's library undoes the compression without a word.
    assert request.headers.get("content-encoding") == ("gzip" if protocol == "http/protobuf" else None)
    assert request.spans[0].resource["service.name"] == "shop"
    assert request.spans[0].resource["deployment.environment.name"] == "test"


def test_headers_of_the_settings_replace_those_of_the_variables(
    receiver: OtlpReceiver, protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "headers"
    file.write_text("Authorization: Bearer abc\nx-team: mail\n")
    variables = {"OTEL_EXPORTER_OTLP_HEADERS": "other-vendor=key,x-team=shop"}
    monkeypatch.setenv(*next(iter(variables.items())))
    with exporting(receiver.endpoint(protocol), protocol, environ=variables, otlp_headers_file=file) as emitter:
        emitter.offer(FULL)
        receiver.wait_for(1)
    (request,) = receiver.requests
    assert (request.headers["authorization"], request.headers["x-team"]) == ("Bearer abc", "mail")
    assert "other-vendor" not in request.headers


def test_tls_with_an_authority_of_its_own(
    certificates: Certificates, protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The file that is set must win over what other programs are told to trust.
    others = tmp_path / "others.pem"
    others.write_bytes(certificates.client_certificate.read_bytes())
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(others))
    with (
        receiving(tls=certificates) as receiver,
        exporting(receiver.endpoint(protocol), protocol, otlp_ca_file=certificates.ca_certificate) as emitter,
    ):
        emitter.offer(FULL)
        assert len(receiver.wait_for(1)) == 1


def test_an_endpoint_that_nobody_vouches_for_is_not_trusted(
    certificates: Certificates, protocol: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    with receiving(tls=certificates) as receiver, exporting(receiver.endpoint(protocol), protocol) as emitter:
        emitter.offer(FULL)
        settle(emitter)
        assert receiver.requests == []
        assert dropped(emitter) == {"failed": 1}
    _, error = only_trouble(caplog)
    assert "certificate" in error.lower() or "handshake" in error.lower() or "ssl" in error.lower()


def test_client_certificates(certificates: Certificates, protocol: str) -> None:
    ca = {"otlp_ca_file": certificates.ca_certificate}
    own = {"otlp_client_cert_file": certificates.client_certificate, "otlp_client_key_file": certificates.client_key}
    with receiving(tls=certificates, client_certificates=True) as receiver:
        with exporting(receiver.endpoint(protocol), protocol, **ca) as stranger:
            stranger.offer(FULL)
            settle(stranger)
            assert dropped(stranger) == {"failed": 1}
        with exporting(receiver.endpoint(protocol), protocol, **ca, **own) as friend:
            friend.offer(FULL)
            assert len(receiver.wait_for(1)) == 1


BOTH = (Behaviour.HANGS, Behaviour.UNAVAILABLE, Behaviour.FORBIDS, Behaviour.REJECTS, Behaviour.GARBAGE)
TROUBLE = [
    *((protocol, behaviour) for protocol in PROTOCOLS for behaviour in BOTH),
    *(("http/protobuf", each) for each in (Behaviour.PAGE, Behaviour.REDIRECTS, Behaviour.ENDLESS, Behaviour.CLOSES)),
]
REFUSALS = {Behaviour.FORBIDS, Behaviour.REJECTS, Behaviour.REDIRECTS}


@pytest.mark.parametrize(("protocol", "behaviour"), TROUBLE)
def test_misbehaviour_is_counted_and_said_once_and_is_survived(
    receiver: OtlpReceiver, protocol: str, behaviour: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "qobserve.tracing")
    receiver.manners.behaviour = behaviour
    reason = "refused" if behaviour in REFUSALS else "failed"
    with exporting(receiver.endpoint(protocol), protocol) as emitter:
        for number in range(15):
            emitter.offer(span(number))
        settle(emitter)
        assert dropped(emitter) == {reason: 15}
        assert emitter.counts().exported == 0
        assert emitter.counts().broken
        assert only_trouble(caplog)[0] == reason

        receiver.manners.behaviour = Behaviour.ACCEPTS
        receiver.manners.released.set()
        emitter.offer(span(99))
        wait_until(lambda: not emitter.counts().broken, "the recovery")
        wait_until(lambda: len(lines(caplog, "spans are exported again")) == 1, "its line")
        assert emitter.counts().exported == 1
    assert len(lines(caplog, "spans cannot be exported")) == 1
    assert [got.span_id for got in receiver.spans] == [f"{100:016x}"]


def test_no_batch_is_sent_oftener_than_it_should(receiver: OtlpReceiver) -> None:
    receiver.manners.behaviour = Behaviour.CLOSES
    with exporting(receiver.http_endpoint, "http/protobuf") as emitter:
        emitter.offer(FULL)
        settle(emitter)
    # Two tries, each of them twice: an idle connection may have been closed.
    assert len(receiver.requests) == 4


def test_a_slow_endpoint_gets_all(receiver: OtlpReceiver, protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    receiver.manners.behaviour = Behaviour.SLOW
    receiver.manners.delay = 0.2
    with exporting(receiver.endpoint(protocol), protocol) as emitter:
        for number in range(30):
            emitter.offer(span(number))
        assert len(receiver.wait_for(30)) == 30
    assert emitter.counts().exported == 30
    assert [record for record in caplog.records if record.levelname != "DEBUG"] == []


def test_spans_wait_out_an_endpoint_that_is_down(protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.ExitStack() as stack:
        with receiving() as before:
            emitter = stack.enter_context(exporting(before.endpoint(protocol), protocol, pace=PATIENT))
            emitter.offer(span(0))
            before.wait_for(1)
        for number in range(1, 40):
            emitter.offer(span(number))
        wait_until(lambda: emitter.counts().broken, "the trouble to be noticed")
        with receiving(http_port=before.http_port, grpc_port=before.grpc_port) as after:
            after.wait_for(39)
            settle(emitter)
        assert [int(got.span_id, 16) for got in after.spans] == list(range(2, 41))
    assert emitter.counts().exported == 40
    assert emitter.counts().dropped == NOTHING
    assert len(lines(caplog, "spans cannot be exported")) == 1


def test_an_endpoint_that_names_a_time_is_left_alone_until_then(receiver: OtlpReceiver) -> None:
    receiver.manners.behaviour = Behaviour.UNAVAILABLE
    receiver.manners.retry_after = 2
    with exporting(receiver.http_endpoint, "http/protobuf", pace=PATIENT) as emitter:
        emitter.offer(FULL)
        wait_until(lambda: len(receiver.requests) == 1, "the first request")
        asked = time.monotonic()
        receiver.manners.behaviour = Behaviour.ACCEPTS
        receiver.wait_for(1)
        assert time.monotonic() - asked > 1.5
    assert len(receiver.requests) == 2


def test_spans_that_were_rejected_are_not_counted_as_exported(
    receiver: OtlpReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.manners.behaviour = Behaviour.PARTIAL
    with exporting(receiver.http_endpoint, "http/protobuf") as emitter:
        for number in range(10):
            emitter.offer(span(number))
        settle(emitter)
        batches = len(receiver.requests)
        assert dropped(emitter) == {"refused": batches}
        assert emitter.counts().exported == 10 - batches
    assert only_trouble(caplog) == ("refused", "some spans were rejected: one span is too old")


def test_a_span_that_cannot_be_sent_costs_no_other(receiver: OtlpReceiver, protocol: str) -> None:
    with exporting(receiver.endpoint(protocol), protocol) as emitter:
        emitter.offer(span(1))
        emitter.offer(replace(span(2), name="\ud800"))
        emitter.offer(replace(span(3), span_id=1 << 64))
        emitter.offer(span(4))
        settle(emitter)
        assert sorted(int(got.span_id, 16) for got in receiver.spans) == [2, 5]
        assert dropped(emitter) == {"failed": 2}


@pytest.mark.parametrize("reply", [None, b"", b"\x16\x03\x01 nonsense", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500])
def test_what_is_no_endpoint_at_all(protocol: str, reply: bytes | None, caplog: pytest.LogCaptureFixture) -> None:
    with answering(reply) as url, exporting(url.replace("redis:", "http:"), protocol) as emitter:
        emitter.offer(FULL)
        settle(emitter)
        assert dropped(emitter) == {"failed": 1}
    assert only_trouble(caplog)[0] == "failed"


@pytest.mark.parametrize("behaviour", [Behaviour.HANGS, Behaviour.UNAVAILABLE, Behaviour.GARBAGE])
def test_nobody_waits_and_memory_does_not_grow(receiver: OtlpReceiver, protocol: str, behaviour: Behaviour) -> None:
    receiver.manners.behaviour = behaviour
    with exporting(receiver.endpoint(protocol), protocol, queue_size=1_000) as emitter:
        offer_many(emitter, 5_000)
        tracemalloc.start()
        try:
            slowest = offer_many(emitter, 20_000)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        counts = emitter.counts()
        assert counts.pending <= 1_000
        assert counts.exported + sum(counts.dropped.values()) + counts.pending == 25_000
        assert counts.dropped["queue_full"] > 20_000
        assert peak < 2_000_000
        assert slowest < 0.25
        receiver.manners.released.set()


def offer_many(emitter: Emitter, count: int) -> float:
    """Offer as many; seconds that the slowest offer took."""
    slowest = 0.0
    for number in range(count):
        before = time.perf_counter()
        emitter.offer(span(number))
        slowest = max(slowest, time.perf_counter() - before)
    return slowest


def test_closing_keeps_its_deadline(receiver: OtlpReceiver, protocol: str) -> None:
    receiver.manners.behaviour = Behaviour.HANGS
    with exporting(receiver.endpoint(protocol), protocol, otlp_timeout=30.0) as emitter:
        emitter.offer(FULL)
        wait_until(lambda: len(receiver.requests) == 1, "the request")
        before = time.monotonic()
        emitter.close(0.3)
        assert time.monotonic() - before < 2
        assert dropped(emitter) == {"failed": 1}


PROGRAM = """
import logging, sys
from qobserve import logs
from qobserve.config.following import TracingSettings
from qobserve.tracing.description import Kind, SpanDescription
from qobserve.tracing.provider import build
logs.configure("info", "logfmt")
endpoint, protocol, ca, timeout = sys.argv[1:]
settings = TracingSettings(
    otlp_endpoint=endpoint, otlp_protocol=protocol, otlp_ca_file=ca or None, otlp_timeout=float(timeout)
)
emitter = build(settings, {}).emitter
emitter.start()
for number in range(1, 4):
    emitter.offer(SpanDescription(
        trace_id=1, span_id=number, parent_span_id=None, name="n", kind=Kind.INTERNAL, start_ns=1, end_ns=2))
emitter.close(1.0)
"""


def told(endpoint: str, protocol: str, ca: Path | str = "", timeout: float = 1.0) -> list[str]:
    """What a process of its own writes to standard error, libraries in C included."""
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, endpoint, protocol, str(ca), str(timeout)],
        check=True, capture_output=True, text=True, timeout=30,
    )  # fmt: skip
    assert run.stdout == ""
    return run.stderr.splitlines()


@pytest.mark.parametrize("behaviour", [Behaviour.HANGS, Behaviour.GARBAGE, Behaviour.FORBIDS])
def test_a_process_says_one_line_and_ends(receiver: OtlpReceiver, protocol: str, behaviour: Behaviour) -> None:
    receiver.manners.behaviour = behaviour
    # A hung endpoint outlasts the process: what is said then is what was given up.
    message = "spans were given up at the end" if behaviour is Behaviour.HANGS else "spans cannot be exported"
    (line,) = told(receiver.endpoint(protocol), protocol, timeout=20)
    assert f'logger=qobserve.tracing msg="{message}"' in line


def test_a_process_that_does_not_trust_its_endpoint(certificates: Certificates, protocol: str) -> None:
    with receiving(tls=certificates) as receiver:
        # A certificate that has vouched for nobody.
        said = told(receiver.endpoint(protocol), protocol, ca=certificates.client_certificate, timeout=0.5)
    assert [line for line in said if "logger=qobserve.tracing" not in line] == []
    assert len([line for line in said if "spans cannot be exported" in line]) == 1
