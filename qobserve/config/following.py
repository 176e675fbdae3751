"""The settings of what follows the queues' events: how they are followed, counted and traced."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic resolves the annotations of its models at run time
from typing import Literal

from qobserve.config.values import Values


class FollowSettings(Values):
    """How the event streams are followed.

    At most `open_jobs` jobs that have not ended are remembered for each target. `checkpoint_file` keeps the place in
    the streams over a restart; None keeps it nowhere.
    """

    enabled: bool = True
    open_jobs: int = 200_000
    checkpoint_file: Path | None = None


class MetricsSettings(Values):
    """How the metrics are cut.

    With `job_names` what is counted of jobs carries their names, for each queue the first `job_names_limit` that were
    seen. With `exemplars` buckets and counters point to traces. Queues that match a glob of `queue_templates` are shown
    as one, under the glob. Buckets are upper bounds in seconds, rising; the last one, without bound, is not among them.
    """

    job_names: bool = False
    job_names_limit: int = 20
    exemplars: bool = False
    queue_templates: tuple[str, ...] = ()
    wait_buckets: tuple[float, ...] = (
        0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 21600.0,
    )  # fmt: skip
    processing_buckets: tuple[float, ...] = (
        0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 3600.0,
    )  # fmt: skip


class TracingSettings(Values):
    """Where spans go, and which.

    Without `otlp_endpoint` there are none. What is None is left to the standard OTEL_* variables, and where they say
    nothing to OpenTelemetry. `otlp_timeout` is in seconds; `queue_size` counts spans.
    """

    otlp_endpoint: str | None = None
    otlp_protocol: Literal["http/protobuf", "grpc"] | None = None
    otlp_headers_file: Path | None = None
    otlp_ca_file: Path | None = None
    otlp_client_cert_file: Path | None = None
    otlp_client_key_file: Path | None = None
    otlp_timeout: float | None = None
    sampling_ratio: float = 1.0
    relation: Literal["link", "parent"] = "link"
    queue_size: int = 20_000
