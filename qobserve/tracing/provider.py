"""Builds what exports spans, from the settings and the standard OTEL_* variables; nothing else builds exporters."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from qobserve.errors import MissingExtra
from qobserve.tracing.destination import destination
from qobserve.tracing.emitter import DEFAULT_PACE, Emitter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qobserve.config.following import TracingSettings
    from qobserve.tracing.delivery import Sender
    from qobserve.tracing.destination import Destination
    from qobserve.tracing.emitter import Pace

LOG = logging.getLogger("qobserve.tracing")

_GRPC_STOP_MS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """The way out for spans.

    Attributes:
        emitter: Not started yet.
        ratio: The share of the traces that is wanted.
        endpoint: Where they go, as a log line may show it.
    """

    emitter: Emitter
    ratio: float
    endpoint: str


def build(settings: TracingSettings, environ: Mapping[str, str], *, pace: Pace = DEFAULT_PACE) -> Export | None:
    """What exports spans; None when no endpoint is asked for, or the variables switch tracing off.

    From then on the logs of OpenTelemetry's packages go to `qobserve.tracing` at the level `debug`.

    Raises:
        SettingsError: A setting or a variable cannot be used; it lists all of them.
        MissingExtra: The packages of `[tracing]` are not installed.
    """
    found = destination(settings, environ)
    if found is None:
        return None
    try:
        sender = _grpc_sender(found) if found.protocol == "grpc" else _http_sender(found)
    except ModuleNotFoundError as exc:
        raise MissingExtra("sending traces", "tracing") from exc
    emitter = Emitter(sender, endpoint=found.shown, queue_size=settings.queue_size, pace=pace)
    return Export(emitter=emitter, ratio=found.ratio, endpoint=found.shown)


# OpenTelemetry, requests and grpc are loaded within the functions, by those alone who export spans in that protocol.


def _http_sender(found: Destination) -> Sender:
    from opentelemetry.exporter.otlp.proto.http import Compression  # noqa: PLC0415 - see above
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - see above

    from qobserve.tracing.answers import JudgingSession  # noqa: PLC0415 - see above
    from qobserve.tracing.readable import resource  # noqa: PLC0415 - see above
    from qobserve.tracing.sdk_logs import keep_sdk_logs  # noqa: PLC0415 - see above
    from qobserve.tracing.sender import OtlpSender  # noqa: PLC0415 - see above

    keep_sdk_logs()
    session = JudgingSession(ca=found.pem.ca, foreign=found.foreign)
    exporter = OTLPSpanExporter(
        endpoint=found.url,
        certificate_file=found.pem.ca,
        client_key_file=found.pem.key,
        client_certificate_file=found.pem.certificate,
        headers={**found.headers},
        timeout=found.timeout,
        compression=Compression.Gzip if found.gzip else Compression.NoCompression,
        session=session,
    )
    return OtlpSender(exporter, session, resource=resource(found.resource), stop=exporter.shutdown)


def _grpc_sender(found: Destination) -> Sender:
    # The C core writes to standard error by itself, and knows no other way to be told.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    import grpc  # type: ignore[import-untyped] # as in grpc_answers # noqa: PLC0415 - see above
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - see above

    from qobserve.tracing.grpc_answers import GrpcAnswers  # noqa: PLC0415 - see above
    from qobserve.tracing.readable import resource  # noqa: PLC0415 - see above
    from qobserve.tracing.sdk_logs import keep_sdk_logs  # noqa: PLC0415 - see above
    from qobserve.tracing.sender import OtlpSender  # noqa: PLC0415 - see above

    keep_sdk_logs()
    ca, key, chain = (
        None if path is None else Path(path).read_bytes()
        for path in (found.pem.ca, found.pem.key, found.pem.certificate)
    )
    exporter = OTLPSpanExporter(
        endpoint=found.url,
        insecure=not found.encrypted,
        credentials=grpc.ssl_channel_credentials(ca, key, chain) if found.encrypted else None,
        headers=tuple(found.headers.items()),
        timeout=found.timeout,
        compression=grpc.Compression.Gzip if found.gzip else grpc.Compression.NoCompression,
    )
    stop = partial(exporter.shutdown, timeout_millis=_GRPC_STOP_MS)
    return OtlpSender(exporter, GrpcAnswers(), resource=resource(found.resource), stop=stop)
