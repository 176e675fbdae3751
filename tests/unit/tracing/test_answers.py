"""What answers over HTTP mean."""

from __future__ import annotations

import email.utils

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from qobserve.tracing.answers import judge, retry_after
from qobserve.tracing.delivery import Delivery

PROTOBUF = {"Content-Type": "application/x-protobuf"}
TAKEN = Delivery()


def partial(rejected: int, message: str = "") -> bytes:
    response = ExportTraceServiceResponse()
    response.partial_success.rejected_spans = rejected
    response.partial_success.error_message = message
    body: bytes = response.SerializeToString()
    return body


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (PROTOBUF, b""),
        (PROTOBUF, partial(0, "only a warning")),
        ({}, b""),
        ({"Content-Type": "application/json"}, b"{}"),
        ({"Content-Type": "text/plain; charset=utf-8"}, b"OK"),
    ],
)
def test_taken(headers: dict[str, str], body: bytes) -> None:
    assert judge(200, "OK", headers, body) == TAKEN


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_busy(status: int) -> None:
    assert judge(status, "Busy", {"Retry-After": "7"}, b"") == Delivery(
        loss="failed", error=f"{status} Busy", again=True, wait=7.0
    )


@pytest.mark.parametrize("status", [301, 302, 308, 400, 401, 403, 404, 413, 499])
def test_refused(status: int) -> None:
    assert judge(status, None, {}, b"") == Delivery(loss="refused", error=str(status))


@pytest.mark.parametrize("status", [100, 500, 501, 505, 600])
def test_broken(status: int) -> None:
    assert judge(status, "", {}, b"") == Delivery(loss="failed", error=str(status))


def test_some_were_rejected() -> None:
    assert judge(200, "OK", PROTOBUF, partial(3, "too old")) == Delivery(
        loss="refused", rejected=3, error="some spans were rejected: too old"
    )


def test_no_otlp() -> None:
    assert judge(200, "OK", PROTOBUF, b"\xff\xff") == Delivery(
        loss="failed", error="200 OK, with an answer that is not OTLP"
    )
    assert judge(200, "OK", {"Content-Type": "Text/HTML; charset=utf-8"}, b"<html>") == Delivery(
        loss="failed", error="200 OK, with a page where OTLP was expected", again=True
    )


NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("nonsense", 0),
        ("-5", 0),
        ("1e9", 0),
        ("inf", 0),
        ("12", 12),
        ("9" * 5000, 999_999_999),
        (email.utils.formatdate(NOW + 30, usegmt=True), 30),
        (email.utils.formatdate(NOW - 30, usegmt=True), 0),
    ],
)
def test_retry_after(text: str | None, seconds: float) -> None:
    assert retry_after(text, NOW) == seconds


def test_what_a_batch_lost() -> None:
    assert TAKEN.lost(10) == 0
    assert Delivery(loss="failed").lost(10) == 10
    assert Delivery(loss="refused", rejected=3).lost(10) == 3
    assert Delivery(loss="refused", rejected=30).lost(10) == 10
