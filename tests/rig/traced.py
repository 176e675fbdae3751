"""Producers and workers that trace themselves into an OTLP receiver: bullmq-otel in Node.js, ours in Python."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rig.drivers import driving, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.drivers import Driver
    from rig.servers import Server

_ENDPOINT = "QOBSERVE_DRIVER_OTLP_ENDPOINT"
_SERVICE = "OTEL_SERVICE_NAME"
_SEND_AFTER_MS = 50
_HERE = Path(__file__).parent


@contextlib.contextmanager
def tracing(
    name: str, server: Server, endpoint: str | None, *, service: str = "app", prefix: str = "bull"
) -> Iterator[Driver]:
    """A driver that traces what it adds and processes; its spans leave within 0.1 s of their ends.

    BullMQ for Node.js has telemetry from 5.22 on; an earlier one runs without.

    Args:
        name: A driver's name, such as `node-6.7.0`.
        server: Where its queues are.
        endpoint: The receiver's OTLP/HTTP base endpoint; None leaves telemetry off.
        service: `service.name` of its spans.
        prefix: The prefix of its queues.
    """
    with driving(name, server, prefix=prefix, env=_environment(name, endpoint, service)) as driver:
        yield driver


def _environment(name: str, endpoint: str | None, service: str) -> dict[str, str]:
    if endpoint is None:
        return {}
    common = {_ENDPOINT: endpoint, _SERVICE: service, "NO_PROXY": "127.0.0.1"}
    if version_of(name).language != "python":
        return common
    paths = (str(_HERE / "site"), str(_HERE.parent), os.environ.get("PYTHONPATH"))
    return {**common, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def instrument() -> None:
    """Turn telemetry on in this process, as its environment says; site/sitecustomize.py calls it in the driver."""
    # Imported here: tests that only start drivers need none of it.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - see above
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - see above
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - see above

    from qobserve.tracing.instrumentor import BullMQInstrumentor  # noqa: PLC0415 - see above

    exporter = OTLPSpanExporter(endpoint=f"{os.environ[_ENDPOINT]}/v1/traces")
    provider = TracerProvider(resource=Resource({"service.name": os.environ[_SERVICE]}))
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=_SEND_AFTER_MS))
    BullMQInstrumentor().instrument(tracer_provider=provider)
