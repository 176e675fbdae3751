"""Where spans go: settings before variables, variables by OpenTelemetry's rules, and every mistake in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve import __version__
from qobserve.config.following import TracingSettings
from qobserve.errors import SettingsError
from qobserve.tracing.destination import Destination, destination
from qobserve.tracing.pem import PemFiles

if TYPE_CHECKING:
    from pathlib import Path

    from rig.certificates import Certificates

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
HTTP = "http://otel:4318"


def found(settings: TracingSettings | None = None, **environ: str) -> Destination:
    result = destination(settings or TracingSettings(), environ)
    assert result is not None
    return result


def problems(settings: TracingSettings | None = None, **environ: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        destination(settings or TracingSettings(), environ)
    return list(caught.value.problems)


def test_defaults() -> None:
    assert found(TracingSettings(otlp_endpoint=HTTP)) == Destination(
        protocol="http/protobuf",
        url="http://otel:4318/v1/traces",
        encrypted=False,
        headers={},
        foreign=frozenset(),
        pem=PemFiles(),
        timeout=10.0,
        gzip=False,
        resource={"service.name": "qobserve", "service.version": __version__},
        ratio=1.0,
    )


@pytest.mark.parametrize(
    ("settings", "environ"),
    [
        (TracingSettings(), {}),
        (TracingSettings(), {ENDPOINT: ""}),
        (TracingSettings(), {ENDPOINT: HTTP, "OTEL_TRACES_EXPORTER": "none"}),
        (TracingSettings(), {ENDPOINT: HTTP, "OTEL_SDK_DISABLED": "true"}),
        (TracingSettings(otlp_endpoint=HTTP), {"OTEL_SDK_DISABLED": "TRUE"}),
        (TracingSettings(), {"OTEL_EXPORTER_OTLP_TIMEOUT": "nonsense"}),
    ],
)
def test_off(settings: TracingSettings, environ: dict[str, str]) -> None:
    assert destination(settings, environ) is None


def test_an_endpoint_of_the_settings_is_used_whatever_the_variables_say_of_exporters() -> None:
    settings = TracingSettings(otlp_endpoint=HTTP)
    assert found(settings, OTEL_TRACES_EXPORTER="none", OTEL_SDK_DISABLED="no").url == f"{HTTP}/v1/traces"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://otel:4318", "http://otel:4318/v1/traces"),
        ("http://otel:4318/", "http://otel:4318/v1/traces"),
        ("http://otel:4318/v1/traces", "http://otel:4318/v1/traces"),
        ("https://api.example/otlp", "https://api.example/otlp/v1/traces"),
        ("https://api.example/otlp/?team=a", "https://api.example/otlp/v1/traces?team=a"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/traces"),
    ],
)
def test_an_endpoint_of_the_settings_may_be_a_base_or_the_whole(text: str, url: str) -> None:
    assert found(TracingSettings(otlp_endpoint=text)).url == url


def test_the_variables_for_endpoints_are_taken_as_the_specification_says() -> None:
    assert found(**{ENDPOINT: "http://a/x"}).url == "http://a/x/v1/traces"
    assert found(**{ENDPOINT: "http://a", TRACES_ENDPOINT: "http://b/mine"}).url == "http://b/mine"
    assert found(**{TRACES_ENDPOINT: "http://b:1"}).url == "http://b:1/"
    assert found(TracingSettings(otlp_endpoint="http://c"), **{TRACES_ENDPOINT: "http://b"}).url == "http://c/v1/traces"


@pytest.mark.parametrize(
    ("text", "insecure", "address"),
    [
        ("http://otel:4317", None, ("otel:4317", False)),
        ("http://otel:4317/", "false", ("otel:4317", False)),
        ("https://otel:4317", "true", ("otel:4317", True)),
        ("https://otel", None, ("otel:443", True)),
        ("otel:4317", None, ("otel:4317", True)),
        ("otel:4317", "true", ("otel:4317", False)),
        ("http://[::1]:4317", None, ("[::1]:4317", False)),
    ],
)
def test_grpc_endpoints(text: str, insecure: str | None, address: tuple[str, bool]) -> None:
    environ = {} if insecure is None else {"OTEL_EXPORTER_OTLP_INSECURE": insecure}
    result = found(TracingSettings(otlp_endpoint=text, otlp_protocol="grpc"), **environ)
    assert (result.protocol, result.url, result.encrypted) == ("grpc", *address)


def test_what_is_of_traces_wins_over_what_is_of_all_signals() -> None:
    result = found(
        OTEL_EXPORTER_OTLP_ENDPOINT="http://a:1",
        OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="grpc",
        OTEL_EXPORTER_OTLP_HEADERS="a=1",
        OTEL_EXPORTER_OTLP_TRACES_HEADERS="B=x%2Cy, c = 2",
        OTEL_EXPORTER_OTLP_TIMEOUT="1000",
        OTEL_EXPORTER_OTLP_TRACES_TIMEOUT="2500",
        OTEL_EXPORTER_OTLP_COMPRESSION="none",
        OTEL_EXPORTER_OTLP_TRACES_COMPRESSION="gzip",
    )
    assert (result.protocol, result.timeout, result.gzip) == ("grpc", 2.5, True)
    assert result.headers == {"b": "x,y", "c": "2"}


def test_settings_win_over_variables(tmp_path: Path) -> None:
    file = tmp_path / "headers"
    file.write_text("# keys\n\nAuthorization: Basic YTpi\nx-team=a=b:c\n")
    settings = TracingSettings(
        otlp_endpoint="http://a", otlp_protocol="http/protobuf", otlp_headers_file=file, otlp_timeout=3.0,
        sampling_ratio=0.5,
    )  # fmt: skip
    result = found(
        settings,
        OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
        OTEL_EXPORTER_OTLP_HEADERS="other=secret,x-team=z",
        OTEL_EXPORTER_OTLP_TIMEOUT="1",
        OTEL_TRACES_SAMPLER="always_off",
    )
    assert (result.protocol, result.timeout, result.ratio) == ("http/protobuf", 3.0, 0.5)
    assert result.headers == {"authorization": "Basic YTpi", "x-team": "a=b:c"}
    assert result.foreign == {"other"}


def test_certificates(certificates: Certificates) -> None:
    ca, certificate, key = (
        certificates.ca_certificate, certificates.client_certificate, certificates.client_key
    )  # fmt: skip
    expected = PemFiles(ca=str(ca), certificate=str(certificate), key=str(key))
    settings = TracingSettings(
        otlp_endpoint="https://a", otlp_ca_file=ca, otlp_client_cert_file=certificate, otlp_client_key_file=key
    )
    assert found(settings, OTEL_EXPORTER_OTLP_CERTIFICATE="/none").pem == expected
    variables = {
        ENDPOINT: "https://a",
        "OTEL_EXPORTER_OTLP_CERTIFICATE": "/none",
        "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": str(ca),
        "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(certificate),
        "OTEL_EXPORTER_OTLP_CLIENT_KEY": str(key),
    }
    assert found(**variables).pem == expected
    assert found(**{**variables, ENDPOINT: "http://a"}).pem == PemFiles()


@pytest.mark.parametrize(
    ("environ", "resource"),
    [
        ({"OTEL_SERVICE_NAME": "mine"}, {"service.name": "mine"}),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=mine,a=b%20c"}, {"service.name": "mine", "a": "b c"}),
        (
            {"OTEL_SERVICE_NAME": "first", "OTEL_RESOURCE_ATTRIBUTES": "service.name=second,service.version=9"},
            {"service.name": "first", "service.version": "9"},
        ),
        (
            {"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test"},
            {
                "service.name": "qobserve",
                "service.version": __version__,
                "deployment.environment.name": "test",
            },
        ),
    ],
)
def test_the_resource(environ: dict[str, str], resource: dict[str, str]) -> None:
    assert found(TracingSettings(otlp_endpoint=HTTP), **environ).resource == resource


@pytest.mark.parametrize(
    ("sampler", "argument", "ratio"),
    [
        ("always_on", "0.5", 1.0),
        ("parentbased_always_off", "", 0.0),
        ("traceidratio", "0.25", 0.25),
        ("parentbased_traceidratio", "", 1.0),
        ("parentbased_traceidratio", "0", 0.0),
    ],
)
def test_samplers(sampler: str, argument: str, ratio: float) -> None:
    settings = TracingSettings(otlp_endpoint=HTTP)
    assert found(settings, OTEL_TRACES_SAMPLER=sampler, OTEL_TRACES_SAMPLER_ARG=argument).ratio == ratio


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
@pytest.mark.parametrize(
    "text", ["otel", "ftp://otel:1", "http://", "http://otel:99999", "http://o tel", "http://\x00:1"]
)
def test_bad_endpoints(protocol: str, text: str) -> None:
    (problem,) = problems(**{ENDPOINT: text, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol})
    assert problem.startswith(f"{ENDPOINT}: ")
    assert "write " in problem
    assert problem.isprintable()


def test_a_password_is_in_no_message() -> None:
    (problem,) = problems(
        **{ENDPOINT: "http://me:hunter2@otel:4317/x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    )
    assert "hunter2" not in problem
    shown = found(**{ENDPOINT: "http://me:hunter2@otel:4318"})
    assert "hunter2" not in repr(shown) + shown.shown
    assert "s3cret" not in repr(found(**{ENDPOINT: HTTP, "OTEL_EXPORTER_OTLP_HEADERS": "key=s3cret"}))


def test_every_mistake_is_found_at_once() -> None:
    assert problems(
        OTEL_EXPORTER_OTLP_ENDPOINT="otel:4318",
        OTEL_EXPORTER_OTLP_PROTOCOL="http/json",
        OTEL_EXPORTER_OTLP_HEADERS="s3cret",
        OTEL_EXPORTER_OTLP_CERTIFICATE="/none",
        OTEL_EXPORTER_OTLP_CLIENT_KEY="/none",
        OTEL_EXPORTER_OTLP_TIMEOUT="10s",
        OTEL_EXPORTER_OTLP_COMPRESSION="zstd",
        OTEL_RESOURCE_ATTRIBUTES="nothing",
        OTEL_TRACES_SAMPLER="jaeger_remote",
    ) == [
        'OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" is not supported, use http/protobuf or grpc',
        'OTEL_EXPORTER_OTLP_ENDPOINT: "otel:4318" has no scheme: write http://HOST:PORT or https://HOST:PORT',
        "OTEL_EXPORTER_OTLP_HEADERS: entry 1 is no header: write NAME=VALUE, and %2C for a comma in a value",
        'OTEL_EXPORTER_OTLP_CERTIFICATE: "/none" cannot be read or holds no certificates in PEM form',
        "OTEL_EXPORTER_OTLP_CLIENT_KEY: a client certificate and its key go together, and the certificate is not given",
        'OTEL_EXPORTER_OTLP_TIMEOUT: "10s" is not a number of milliseconds: write 10000 for ten seconds',
        'OTEL_EXPORTER_OTLP_COMPRESSION: "zstd" is not supported, use none or gzip',
        "OTEL_RESOURCE_ATTRIBUTES: entry 1 is no attribute: write NAME=VALUE, and %2C for a comma in a value",
        (
            'OTEL_TRACES_SAMPLER: "jaeger_remote" is not supported, use always_on, always_off, parentbased_always_on, '
            "parentbased_always_off, traceidratio or parentbased_traceidratio"
        ),
    ]


def test_certificates_are_of_use_with_tls_only(certificates: Certificates) -> None:
    settings = TracingSettings(otlp_endpoint=HTTP, otlp_ca_file=certificates.ca_certificate)
    assert problems(settings) == [
        "tracing.otlp-ca-file: it is of use with TLS only, and the endpoint is not one with https://"
    ]


def test_a_ratio_that_is_none() -> None:
    assert problems(
        TracingSettings(otlp_endpoint=HTTP), OTEL_TRACES_SAMPLER="traceidratio", OTEL_TRACES_SAMPLER_ARG="2"
    ) == ['OTEL_TRACES_SAMPLER_ARG: "2" is not a share from 0 to 1: write 0.25 for a quarter of the traces']


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no header: write one NAME: VALUE a line"),
        ("a: 1\ns3cret", "line 2 is no header: write NAME: VALUE"),
        ("bad name: s3cret", "line 1 has no header's name: letters, digits and _.- make one"),
        ("Content-Type: s3cret", 'line 1: "content-type" belongs to the request itself and cannot be set'),
        ("a-bin: s3cret", 'line 1: "a-bin" belongs to the request itself and cannot be set'),
        ("a:", 'line 1: the value of "a" is empty or holds more than printable ASCII'),
        ("a: s3cret\x07", 'line 1: the value of "a" is empty or holds more than printable ASCII'),
    ],
)
def test_bad_headers_files(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "headers"
    file.write_text(text)
    (told,) = problems(TracingSettings(otlp_endpoint=HTTP, otlp_headers_file=file))
    assert told.startswith("tracing.otlp-headers-file: ")
    assert told.endswith(problem)
    assert "s3cret" not in told


def test_a_headers_file_that_cannot_be_read(tmp_path: Path) -> None:
    (told,) = problems(TracingSettings(otlp_endpoint=HTTP, otlp_headers_file=tmp_path / "none"))
    assert told == (
        f'tracing.otlp-headers-file: cannot read "{tmp_path}/none" as UTF-8 text: No such file or directory'
    )
