"""Where spans go and how, from the settings and the standard OTEL_* variables; every mistake is found at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from qobserve.config.shown import quoted, redacted
from qobserve.tracing.endpoint import base_or_traces_url, base_url, exact_url, grpc_address, is_encrypted
from qobserve.tracing.headers import headers_from_file, headers_from_variable
from qobserve.tracing.pem import PemFiles, pem_problems
from qobserve.tracing.resource import resource_attributes
from qobserve.tracing.sampling import sampling_ratio
from qobserve.tracing.variables import Named, Variables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qobserve.config.following import TracingSettings

Wire = Literal["http/protobuf", "grpc"]

_DEFAULT_SECONDS = 10.0
_TLS_SETTINGS = ("tracing.otlp-ca-file", "tracing.otlp-client-cert-file", "tracing.otlp-client-key-file")
_NOWHERE = ("", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """An OTLP endpoint and all that goes with it.

    Attributes:
        protocol: How it is spoken to.
        url: The whole URL of the traces for HTTP, `HOST:PORT` for gRPC; it may hold a password.
        encrypted: Whether TLS is spoken.
        headers: Sent with each request, by lower-case names; `repr` does not show them, for they hold keys.
        foreign: Names of headers that the variables ask for and the settings replace.
        pem: CA, client certificate and its key.
        timeout: Seconds for one request.
        gzip: Whether requests are compressed.
        resource: The attributes of the resource that the spans are of.
        ratio: The share of the traces that is wanted.
    """

    protocol: Wire
    url: str = field(repr=False)
    encrypted: bool
    headers: Mapping[str, str] = field(repr=False)
    foreign: frozenset[str]
    pem: PemFiles
    timeout: float
    gzip: bool
    resource: Mapping[str, str]
    ratio: float

    @property
    def shown(self) -> str:
        """The endpoint as a log line may show it."""
        return redacted(self.url)


def destination(settings: TracingSettings, environ: Mapping[str, str]) -> Destination | None:
    """The endpoint that is asked for; None when there is none, or when the variables switch tracing off.

    OTEL_SDK_DISABLED switches it off whatever the settings say, OTEL_TRACES_EXPORTER=none where they name no endpoint.

    Raises:
        SettingsError: Something about it cannot be used; it lists everything.
    """
    variables = Variables(environ)
    endpoint = _wanted(settings, variables)
    if endpoint is None:
        return None
    given = _setting("tracing.otlp-protocol", settings.otlp_protocol) or variables.otlp("PROTOCOL")
    protocol = cast("Wire", variables.choice(given, ("http/protobuf", "grpc"), "http/protobuf"))
    url, encrypted = _endpoint(endpoint, variables, protocol)
    headers, foreign = _headers(settings, variables)
    found = Destination(
        protocol=protocol,
        url=url,
        encrypted=encrypted,
        headers=headers,
        foreign=foreign,
        pem=_pem(settings, variables, plain=bool(url) and not encrypted),
        timeout=_timeout(settings, variables),
        gzip=variables.choice(variables.otlp("COMPRESSION"), ("none", "gzip"), "none") == "gzip",
        resource=_resource(variables),
        # The default is 1, which says as much as nothing.
        ratio=settings.sampling_ratio if settings.sampling_ratio != 1 else sampling_ratio(variables),
    )
    variables.finish()
    return found


def _setting(name: str, value: object) -> Named | None:
    return None if value is None else Named(source=name, text=str(value))


def _wanted(settings: TracingSettings, variables: Variables) -> Named | None:
    if variables.is_true("OTEL_SDK_DISABLED"):
        return None
    exporter = variables.get("OTEL_TRACES_EXPORTER")
    off = exporter is not None and exporter.text.lower() == "none"
    return _setting("tracing.otlp-endpoint", settings.otlp_endpoint) or (None if off else variables.otlp("ENDPOINT"))


def _endpoint(found: Named, variables: Variables, protocol: Wire) -> tuple[str, bool]:
    if protocol == "grpc":
        insecure = variables.otlp("INSECURE")
        plain = insecure is not None and insecure.text.lower() == "true"
        return variables.attempt(found.source, lambda: grpc_address(found.text, insecure=plain), _NOWHERE)
    complete = {
        "tracing.otlp-endpoint": base_or_traces_url,
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": exact_url,
        "OTEL_EXPORTER_OTLP_ENDPOINT": base_url,
    }[found.source]
    url = variables.attempt(found.source, lambda: complete(found.text), "")
    return url, is_encrypted(url)


def _headers(settings: TracingSettings, variables: Variables) -> tuple[dict[str, str], frozenset[str]]:
    listed, file = variables.otlp("HEADERS"), settings.otlp_headers_file
    none: dict[str, str] = {}
    asked = variables.attempt(listed.source, lambda: headers_from_variable(listed.text), none) if listed else none
    if file is None:
        return asked, frozenset()
    headers = variables.attempt("tracing.otlp-headers-file", lambda: headers_from_file(file), none)
    return headers, frozenset(asked.keys() - headers.keys())


def _pem(settings: TracingSettings, variables: Variables, *, plain: bool) -> PemFiles:
    given = tuple(
        _setting(name, value)
        for name, value in zip(
            _TLS_SETTINGS,
            (settings.otlp_ca_file, settings.otlp_client_cert_file, settings.otlp_client_key_file),
            strict=True,
        )
    )
    if plain:
        variables.problems.extend(
            f"{setting.source}: it is of use with TLS only, and the endpoint is not one with https://"
            for setting in given
            if setting is not None
        )
        return PemFiles()
    ca, certificate, key = (
        setting or variables.otlp(what)
        for setting, what in zip(given, ("CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"), strict=True)
    )
    variables.problems.extend(pem_problems(ca, certificate, key))
    ca_path, certificate_path, key_path = (None if each is None else each.text for each in (ca, certificate, key))
    return PemFiles(ca=ca_path, certificate=certificate_path, key=key_path)


def _timeout(settings: TracingSettings, variables: Variables) -> float:
    found = variables.otlp("TIMEOUT")
    if settings.otlp_timeout is not None:
        return settings.otlp_timeout
    if found is None:
        return _DEFAULT_SECONDS
    return variables.attempt(found.source, lambda: _milliseconds(found.text), _DEFAULT_SECONDS)


def _milliseconds(text: str) -> float:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise ValueError(f"{quoted(text)} is not a number of milliseconds: write 10000 for ten seconds")
    return int(text) / 1000


def _resource(variables: Variables) -> Mapping[str, str]:
    listed, name = (variables.get(each) for each in ("OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME"))
    return variables.attempt(
        "OTEL_RESOURCE_ATTRIBUTES",
        lambda: resource_attributes(listed.text if listed else "", name.text if name else ""),
        {},
    )
