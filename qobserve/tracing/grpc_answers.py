"""What an OTLP endpoint answers over gRPC, as far as OpenTelemetry's exporter tells: in its log."""

from __future__ import annotations

import grpc  # type: ignore[import-untyped] # its types are a package of their own

from qobserve.tracing.delivery import Delivery
from qobserve.tracing.sdk_logs import SDK_LOGS

# The codes that the OTLP specification has clients try again after.
_BUSY = frozenset(
    {
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.DATA_LOSS,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.UNAVAILABLE,
    }
)
# These say that something broke, and not that the spans are not wanted.
_BROKEN = frozenset({grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN})
_MOST_TEXT = 200


class GrpcAnswers:
    """The answers to an exporter that runs in the present thread.

    How many spans of a batch that was taken were rejected, no exporter of the SDK tells.
    """

    def forget(self) -> None:
        """A batch is about to be sent."""
        SDK_LOGS.clear()

    def heard(self, *, success: bool) -> Delivery | None:
        """What became of it; None when it never left us."""
        if success:
            return Delivery()
        facts = tuple(SDK_LOGS.facts())
        code = next((fact for fact in facts if isinstance(fact, grpc.StatusCode)), None)
        if code is None:
            said = SDK_LOGS.message()
            return None if said is None else Delivery(loss="failed", error=said[:_MOST_TEXT], again=True)
        error = f"{code.name}: {facts[-1]}"[:_MOST_TEXT]
        if code in _BUSY:
            return Delivery(loss="failed", error=error, again=True)
        return Delivery(loss="failed" if code in _BROKEN else "refused", error=error)
