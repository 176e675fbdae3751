"""A real OTLP receiver for traces, over HTTP and gRPC; it can be told to misbehave at any time."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from rig.child import wait_until
from rig.otlp_grpc import GrpcDoor
from rig.otlp_http import HttpDoor
from rig.otlp_spans import spans_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rig.certificates import Certificates
    from rig.otlp_spans import ReceivedSpan

_HOLD_SECONDS = 60.0


class Behaviour(StrEnum):
    """What the receiver does with a request, over HTTP and over gRPC; it keeps the spans of the first three only."""

    ACCEPTS = "accepts"
    SLOW = "slow"  # accepts, after `delay` seconds
    PARTIAL = "partial"  # accepts, and says that it rejected one span
    HANGS = "hangs"  # says nothing until it is closed or told to behave
    UNAVAILABLE = "unavailable"  # 503 with Retry-After, UNAVAILABLE with RetryInfo
    FORBIDS = "forbids"  # 401, UNAUTHENTICATED
    REJECTS = "rejects"  # 400, INVALID_ARGUMENT
    GARBAGE = "garbage"  # no HTTP at all, an answer that is no protobuf
    PAGE = "page"  # 200 and an HTML page (HTTP only)
    REDIRECTS = "redirects"  # 302 (HTTP only)
    ENDLESS = "endless"  # 200 and an answer without an end (HTTP only)
    CLOSES = "closes"  # hangs up (HTTP only)


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One request as it came; the names of headers are lower-case."""

    protocol: str
    headers: Mapping[str, str]
    spans: tuple[ReceivedSpan, ...]
    kept: bool
    body: bytes = field(repr=False)


@dataclass(slots=True, kw_only=True)
class Manners:
    """How the receiver behaves, and what it remembers; all of it may be changed while it runs.

    Attributes:
        behaviour: What is done with the next request.
        delay: Seconds that `SLOW` takes.
        retry_after: Seconds that `UNAVAILABLE` asks for; None asks for none.
        requests: Everything that came, oldest first.
        released: Set when what hangs shall end.
    """

    behaviour: Behaviour = Behaviour.ACCEPTS
    delay: float = 0.5
    retry_after: int | None = None
    requests: list[Received] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def take(self, protocol: str, headers: Mapping[str, str], body: bytes) -> Behaviour:
        """Note a request, wait as long as it shall take, and tell what is to be answered."""
        behaviour = self.behaviour
        kept = behaviour in {Behaviour.ACCEPTS, Behaviour.SLOW, Behaviour.PARTIAL}
        spans = tuple(spans_of(ExportTraceServiceRequest.FromString(body)))
        lower = {name.lower(): value for name, value in headers.items()}
        self.requests.append(Received(protocol=protocol, headers=lower, spans=spans, kept=kept, body=body))
        if behaviour is Behaviour.SLOW:
            self.released.wait(self.delay)
        if behaviour is Behaviour.HANGS:
            self.released.wait(_HOLD_SECONDS)
        return behaviour

    @staticmethod
    def answer(behaviour: Behaviour) -> bytes:
        """The body of an answer to a request that was kept."""
        response = ExportTraceServiceResponse()
        if behaviour is Behaviour.PARTIAL:
            response.partial_success.rejected_spans = 1
            response.partial_success.error_message = "one span is too old"
        return response.SerializeToString()


class OtlpReceiver:
    """One receiver with a port for each protocol.

    Attributes:
        manners: What it does and what it has received; changing `manners.behaviour` counts from the next request on.
    """

    def __init__(
        self,
        *,
        tls: Certificates | None = None,
        client_certificates: bool = False,
        http_port: int = 0,
        grpc_port: int = 0,
    ) -> None:
        self.manners = Manners()
        ca = tls.ca_certificate if tls and client_certificates else None
        self._http = HttpDoor(self.manners, tls=tls, client_ca=ca, port=http_port)
        self._grpc = GrpcDoor(self.manners, tls=tls, client_ca=ca, port=grpc_port)
        self._scheme = "https" if tls else "http"

    @property
    def http_port(self) -> int:
        """Where `/v1/traces` is served."""
        return self._http.port

    @property
    def grpc_port(self) -> int:
        """Where the trace service is served."""
        return self._grpc.port

    @property
    def http_endpoint(self) -> str:
        """The base endpoint for `http/protobuf`, without `/v1/traces`."""
        return f"{self._scheme}://127.0.0.1:{self.http_port}"

    @property
    def grpc_endpoint(self) -> str:
        """The endpoint for `grpc`."""
        return f"{self._scheme}://127.0.0.1:{self.grpc_port}"

    def endpoint(self, protocol: str) -> str:
        """The endpoint for `grpc` or `http/protobuf`."""
        return self.grpc_endpoint if protocol == "grpc" else self.http_endpoint

    @property
    def requests(self) -> list[Received]:
        """Everything that came, oldest first."""
        return list(self.manners.requests)

    @property
    def spans(self) -> list[ReceivedSpan]:
        """Every span that was kept, in the order of arrival."""
        return [span for request in self.requests if request.kept for span in request.spans]

    def wait_for(self, count: int, *, timeout: float = 10.0) -> list[ReceivedSpan]:
        """The spans that were kept, once there are at least so many."""
        wait_until(lambda: len(self.spans) >= count, f"{count} spans to arrive", timeout=timeout)
        return self.spans

    def clear(self) -> None:
        """Forget what has been received."""
        self.manners.requests.clear()

    def close(self) -> None:
        """End it: its ports refuse, its connections are closed, what hung is over."""
        self.manners.released.set()
        self._http.close()
        self._grpc.close()


@contextlib.contextmanager
def receiving(
    *, tls: Certificates | None = None, client_certificates: bool = False, http_port: int = 0, grpc_port: int = 0
) -> Iterator[OtlpReceiver]:
    """A receiver for the length of a `with` block; with `client_certificates` it serves only who shows one."""
    receiver = OtlpReceiver(tls=tls, client_certificates=client_certificates, http_port=http_port, grpc_port=grpc_port)
    try:
        yield receiver
    finally:
        receiver.close()
