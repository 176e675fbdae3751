"""What an OTLP endpoint answers over HTTP, all of which is looked at here; the SDK's exporter looks at the status."""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING, TypeAlias

import requests
import urllib3
from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # its types are a package of their own
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from qobserve.tracing.delivery import Delivery

if TYPE_CHECKING:
    from collections.abc import Mapping

_OK, _REDIRECTION, _SERVER_ERROR = 200, 300, 500
_MOST_BYTES = 1 << 16
_MOST_TEXT = 200
_BUSY = frozenset({429, 502, 503, 504})  # as the OTLP specification lists them

_Answer: TypeAlias = "tuple[requests.Response, bytes]"


class NotTakenError(Exception):
    """Tells the exporter to give up at once: whether a batch is sent again is decided with the help of the answer."""


class JudgingSession(requests.Session):
    """A session that lets only those answers through which say that spans were taken, and remembers the last one.

    Headers whose names are in `foreign` are taken out of requests.
    """

    def __init__(self, *, ca: str | None, foreign: frozenset[str]) -> None:
        super().__init__()
        self._ca = ca
        self._foreign = foreign
        self._answer: Delivery | None = None

    def forget(self) -> None:
        """A batch is about to be sent."""
        self._answer = None

    def heard(self, *, success: bool) -> Delivery | None:
        """What became of it; None when it never left us."""
        if success:
            return self._answer or Delivery()
        return None if self._answer is None or self._answer.loss is None else self._answer

    def send(self, request: requests.PreparedRequest, **options: object) -> requests.Response:
        """Send a request of the exporter, and read its answer.

        Raises:
            NotTakenError: The answer was another than that the spans, or some of them, were taken.
        """
        for name in self._foreign:
            request.headers.pop(name, None)
        # An answer is read here and not by the session, which would read one without an end to its end.
        options |= {"stream": True, "allow_redirects": False}
        if self._ca is not None:
            # What REQUESTS_CA_BUNDLE says would win over the file that the exporter was given.
            options["verify"] = self._ca
        try:
            response, body = self._ask(request, options)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as exc:
            self._answer = Delivery(loss="failed", error=_sentence(exc), again=True)
            raise NotTakenError from exc
        self._answer = judge(response.status_code, response.reason, response.headers, body)
        if self._answer.loss is not None and self._answer.rejected is None:
            raise NotTakenError
        return response

    def _ask(self, request: requests.PreparedRequest, options: Mapping[str, object]) -> _Answer:
        try:
            return self._ask_once(request, options)
        except requests.ConnectionError as exc:
            if not isinstance(_innermost(exc), ConnectionResetError | BrokenPipeError):
                raise
            # The endpoint may have closed a connection that was idle just as it was taken up again.
            return self._ask_once(request, options)

    def _ask_once(self, request: requests.PreparedRequest, options: Mapping[str, object]) -> _Answer:
        with super().send(request, **options) as response:
            return response, response.raw.read(_MOST_BYTES, decode_content=True)


def judge(status: int, reason: str | None, headers: Mapping[str, str], body: bytes) -> Delivery:
    """What an answer says."""
    said = f"{status} {reason or ''}".strip()
    if status in _BUSY:
        wait = retry_after(headers.get("Retry-After"), time.time())
        return Delivery(loss="failed", error=said, again=True, wait=wait)
    if _REDIRECTION <= status < _SERVER_ERROR:  # redirections are not followed: the endpoint is elsewhere
        return Delivery(loss="refused", error=said)
    if not _OK <= status < _REDIRECTION:
        return Delivery(loss="failed", error=said)
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind == "text/html":
        return Delivery(loss="failed", error=f"{said}, with a page where OTLP was expected", again=True)
    # Some endpoints answer in JSON or not at all, which says no more than the status.
    return _judge_body(body, said) if kind == "application/x-protobuf" else Delivery()


def _judge_body(body: bytes, said: str) -> Delivery:
    try:
        partial = ExportTraceServiceResponse.FromString(body).partial_success
    except DecodeError:
        return Delivery(loss="failed", error=f"{said}, with an answer that is not OTLP")
    if partial.rejected_spans <= 0:
        return Delivery()
    error = f"some spans were rejected: {partial.error_message[:_MOST_TEXT] or 'no reason given'}"
    return Delivery(loss="refused", error=error, rejected=partial.rejected_spans)


def retry_after(text: str | None, now: float) -> float:
    """Seconds that a Retry-After header asks for, as a number or a date; 0 for one that cannot be read."""
    words = (text or "").strip()
    if words.isascii() and words.isdecimal():
        return float(words[:9])
    try:
        moment = email.utils.parsedate_to_datetime(words)
    except ValueError:
        return 0.0
    return max(0.0, moment.timestamp() - now)


def _innermost(exc: BaseException) -> BaseException:
    while (cause := exc.__cause__ or exc.__context__) is not None:
        exc = cause
    return exc


def _sentence(exc: BaseException) -> str:
    """What happened, without the library's own wrapping."""
    cause = _innermost(exc)
    text = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
    return text[:_MOST_TEXT] or type(cause).__name__
