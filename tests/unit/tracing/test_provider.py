"""What exports spans is built from settings and variables, and loads nothing before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from qobserve.config.following import TracingSettings
from qobserve.errors import SettingsError
from qobserve.tracing.provider import build

HEAVY = {"google", "grpc", "opentelemetry", "requests"}

LOADED = """
import sys
from qobserve.config.following import TracingSettings
from qobserve.tracing.provider import build
if sys.argv[1]:
    settings = TracingSettings(otlp_endpoint="http://127.0.0.1:1", otlp_protocol=sys.argv[1])
    build(settings, {}).emitter.close(1)
else:
    assert build(TracingSettings(), {}) is None
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""

WITHOUT = """
import sys
from qobserve.config.following import TracingSettings
from qobserve.errors import MissingExtra
from qobserve.tracing.provider import build
sys.modules[sys.argv[2]] = None
try:
    build(TracingSettings(otlp_endpoint="http://127.0.0.1:1", otlp_protocol=sys.argv[1]), {})
except MissingExtra as exc:
    print(exc)
"""


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-W", "error", "-c", program, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("protocol", "loaded"),
    [
        ("", set()),
        ("http/protobuf", {"google", "opentelemetry", "requests"}),
        ("grpc", {"google", "grpc", "opentelemetry"}),
    ],
)
def test_only_what_is_needed_is_loaded(protocol: str, loaded: set[str]) -> None:
    assert set(run(LOADED, protocol).split()) & HEAVY == loaded


@pytest.mark.parametrize(
    ("protocol", "package"), [("http/protobuf", "opentelemetry"), ("grpc", "opentelemetry"), ("grpc", "grpc")]
)
def test_what_is_not_installed_is_named(protocol: str, package: str) -> None:
    assert run(WITHOUT, protocol, package) == (
        "sending traces needs packages that are not installed: pip install 'qobserve[tracing]'\n"
    )


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_what_is_built(protocol: str) -> None:
    settings = TracingSettings.model_validate(
        {"otlp_endpoint": "http://127.0.0.1:1", "otlp_protocol": protocol, "sampling_ratio": 0.5}
    )
    export = build(settings, {})
    assert export is not None
    assert export.ratio == 0.5
    assert export.endpoint == ("127.0.0.1:1" if protocol == "grpc" else "http://127.0.0.1:1/v1/traces")
    assert export.emitter.counts().pending == 0
    export.emitter.close(1)


def test_nothing_is_built_of_what_is_wrong() -> None:
    with pytest.raises(SettingsError, match="OTEL_EXPORTER_OTLP_TIMEOUT"):
        build(TracingSettings(otlp_endpoint="http://127.0.0.1:1"), {"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"})
