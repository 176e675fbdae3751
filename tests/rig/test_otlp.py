"""The OTLP receiver takes what OpenTelemetry's own exporters send, and misbehaves when told to."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import SpanKind

from rig.otlp import Behaviour, receiving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace.export import SpanExporter

    from rig.certificates import Certificates
    from rig.otlp import OtlpReceiver


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with receiving() as started:
        yield started


def send_one(exporter: SpanExporter) -> None:
    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with provider.get_tracer("scope", "1.2").start_as_current_span("outer", attributes={"n": 1}) as span:
        span.add_event("happened", {"words": ["a", "b"]})
        with provider.get_tracer("scope", "1.2").start_as_current_span("inner", kind=SpanKind.CONSUMER):
            pass
    provider.shutdown()


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_spans_of_the_sdk_arrive_whole(receiver: OtlpReceiver, protocol: str) -> None:
    if protocol == "grpc":
        send_one(GrpcExporter(receiver.grpc_endpoint, insecure=True, headers={"x-key": "k"}))
    else:
        send_one(HttpExporter(f"{receiver.http_endpoint}/v1/traces", headers={"X-Key": "k"}))

    inner, outer = receiver.wait_for(2)
    assert (inner.name, inner.kind, inner.parent_span_id) == ("inner", "consumer", outer.span_id)
    assert (outer.name, outer.kind, outer.parent_span_id, outer.status) == ("outer", "internal", None, "unset")
    assert (outer.attributes, outer.resource["service.name"]) == ({"n": 1}, "shop")
    assert (outer.scope, outer.scope_version) == ("scope", "1.2")
    assert [(event.name, event.attributes) for event in outer.events] == [("happened", {"words": ["a", "b"]})]
    assert len(outer.trace_id) == 32
    assert len(outer.span_id) == 16
    assert {(each.protocol, each.headers["x-key"]) for each in receiver.requests} == {(protocol, "k")}


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_tls(certificates: Certificates, protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # they would win over the file that the exporter is given
        monkeypatch.delenv(name, raising=False)
    with receiving(tls=certificates) as receiver:
        if protocol == "grpc":
            credentials = grpc.ssl_channel_credentials(certificates.ca_certificate.read_bytes())
            send_one(GrpcExporter(receiver.grpc_endpoint, credentials=credentials))
        else:
            ca = str(certificates.ca_certificate)
            send_one(HttpExporter(f"{receiver.http_endpoint}/v1/traces", certificate_file=ca))
        assert len(receiver.wait_for(2)) == 2


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [(Behaviour.UNAVAILABLE, 503), (Behaviour.FORBIDS, 401), (Behaviour.REJECTS, 400), (Behaviour.REDIRECTS, 501)],
)
def test_http_statuses(receiver: OtlpReceiver, behaviour: Behaviour, status: int) -> None:
    receiver.manners.behaviour = behaviour
    receiver.manners.retry_after = 7  # and 501 is what the GET gets that urllib follows the redirection with
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(receiver)
    with caught.value as error:
        assert error.code == status
        assert error.headers["Retry-After"] == ("7" if status == 503 else None)
    assert receiver.spans == []


@pytest.mark.parametrize("behaviour", [Behaviour.GARBAGE, Behaviour.CLOSES, Behaviour.HANGS])
def test_http_without_an_answer(receiver: OtlpReceiver, behaviour: Behaviour) -> None:
    receiver.manners.behaviour = behaviour
    with pytest.raises((OSError, http.client.HTTPException)):
        post(receiver, timeout=0.3)
    assert [request.kept for request in receiver.requests] == [False]


def test_partial_success(receiver: OtlpReceiver) -> None:
    receiver.manners.behaviour = Behaviour.PARTIAL
    assert ExportTraceServiceResponse.FromString(post(receiver)).partial_success.rejected_spans == 1


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [
        (Behaviour.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE),
        (Behaviour.FORBIDS, grpc.StatusCode.UNAUTHENTICATED),
        (Behaviour.REJECTS, grpc.StatusCode.INVALID_ARGUMENT),
        (Behaviour.HANGS, grpc.StatusCode.DEADLINE_EXCEEDED),
        (Behaviour.GARBAGE, grpc.StatusCode.INTERNAL),
    ],
)
def test_grpc_codes(receiver: OtlpReceiver, behaviour: Behaviour, code: grpc.StatusCode) -> None:
    receiver.manners.behaviour = behaviour
    with grpc.insecure_channel(f"127.0.0.1:{receiver.grpc_port}") as channel:
        with pytest.raises(grpc.RpcError) as caught:
            TraceServiceStub(channel).Export(ExportTraceServiceRequest(), timeout=1)
        assert caught.value.code() is code


def test_a_port_can_be_had_again() -> None:
    with receiving() as first:
        ports = (first.http_port, first.grpc_port)
    with pytest.raises(urllib.error.URLError):
        post(first)
    with receiving(http_port=ports[0], grpc_port=ports[1]) as second:
        assert (second.http_port, second.grpc_port) == ports
        assert post(second) == b""


def post(receiver: OtlpReceiver, timeout: float = 5) -> bytes:
    request = urllib.request.Request(  # noqa: S310 - to our own receiver
        f"{receiver.http_endpoint}/v1/traces",
        ExportTraceServiceRequest().SerializeToString(),
        {"Content-Type": "application/x-protobuf"},
    )
    with urllib.request.urlopen(request, timeout=timeout) as response:  # noqa: S310 - as above
        body: bytes = response.read()
        return body
