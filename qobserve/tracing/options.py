"""What may be chosen about the spans of job runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

_TRACES = 1 << 64  # values of the half of a trace id that decides


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanOptions:
    """How spans relate to the application's own, how many there are, and where the queue lives.

    Attributes:
        relation: Whether a run has a trace of its own that links to the producer's span, or is a child of that span.
        ratio: The share of jobs that are traced, 0 to 1.
        server_address: The host of the Redis; never with credentials.
        server_port: Its port.
    """

    relation: Literal["link", "parent"] = "link"
    ratio: float = 1.0
    server_address: str | None = None
    server_port: int | None = None

    @property
    def server(self) -> str:
        """What the server is called in ids."""
        return f"{self.server_address or ''}:{'' if self.server_port is None else self.server_port}"

    def keeps(self, trace_id: int) -> bool:
        """Whether a trace is within the ratio, decided as OpenTelemetry's TraceIdRatioBased does."""
        return trace_id % _TRACES < round(self.ratio * _TRACES)
