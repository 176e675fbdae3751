"""The door of the OTLP receiver for gRPC: the trace service, on the bytes of its messages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo

if TYPE_CHECKING:
    from pathlib import Path

    from rig.certificates import Certificates
    from rig.otlp import Manners

_SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
_GARBAGE = b"\xff\xff\xff\xff no protobuf"
_CODES = {
    "unavailable": grpc.StatusCode.UNAVAILABLE,
    "hangs": grpc.StatusCode.UNAVAILABLE,
    "forbids": grpc.StatusCode.UNAUTHENTICATED,
    "rejects": grpc.StatusCode.INVALID_ARGUMENT,
    **dict.fromkeys(("page", "redirects", "endless", "closes"), grpc.StatusCode.UNIMPLEMENTED),  # of HTTP only
}


class GrpcDoor:
    """Serves until it is closed; with a `client_ca` only those who show a certificate of it."""

    def __init__(self, manners: Manners, *, tls: Certificates | None, client_ca: Path | None, port: int) -> None:
        self._manners = manners
        self._server = grpc.server(ThreadPoolExecutor(max_workers=4), options=(("grpc.so_reuseport", 0),))
        export = grpc.unary_unary_rpc_method_handler(self._export)  # without serializers: bytes in, bytes out
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_SERVICE, {"Export": export}),))
        address = f"127.0.0.1:{port}"
        if tls is None:
            self.port = self._server.add_insecure_port(address)
        else:
            self.port = self._server.add_secure_port(address, _credentials(tls, client_ca))
        self._server.start()

    def close(self) -> None:
        """Refuse from now on, and hang up on everyone."""
        self._server.stop(None).wait()

    def _export(self, body: bytes, context: grpc.ServicerContext) -> bytes:
        headers = {str(each.key): str(each.value) for each in context.invocation_metadata()}
        behaviour = self._manners.take("grpc", headers, body)
        if behaviour == "unavailable" and self._manners.retry_after is not None:
            info = RetryInfo(retry_delay=Duration(seconds=self._manners.retry_after))
            context.set_trailing_metadata((("google.rpc.retryinfo-bin", info.SerializeToString()),))
        if behaviour in _CODES:
            context.abort(_CODES[behaviour], f"the receiver {behaviour}")
        return _GARBAGE if behaviour == "garbage" else self._manners.answer(behaviour)


def _credentials(tls: Certificates, client_ca: Path | None) -> grpc.ServerCredentials:
    pair = (tls.server_key.read_bytes(), tls.server_certificate.read_bytes())
    ca = None if client_ca is None else client_ca.read_bytes()
    return grpc.ssl_server_credentials([pair], ca, require_client_auth=ca is not None)
