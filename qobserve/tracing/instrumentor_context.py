"""The context of a job's producer in `opts.tm`, as BullMQ's telemetry for Node.js writes and reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from opentelemetry import propagate
from opentelemetry.trace import INVALID_SPAN, get_current_span, set_span_in_context

from qobserve.tracing.context import carrier_of, with_carrier
from qobserve.tracing.instrumentor_shield import shielded

if TYPE_CHECKING:
    from opentelemetry.context import Context

    Headers: TypeAlias = Mapping[str, str]
    from opentelemetry.trace import SpanContext


def options(value: object) -> Mapping[str, object]:
    """Options of a job; nothing where a caller gave something else."""
    return value if isinstance(value, Mapping) else {}


def stamped(own: object, headers: Headers) -> object:
    """A copy of a caller's options with a context; what are no options stays as it is, for BullMQ to complain of."""
    return with_carrier(options(own), headers) if own is None or isinstance(own, Mapping) else own


def metadata(opts: Mapping[str, object]) -> object:
    """The text that carries a context, under the name that is stored or under the name of the API of Node.js."""
    return opts.get("tm") or options(opts.get("telemetry")).get("metadata")


def omits_context(opts: Mapping[str, object]) -> bool:
    """Whether the producer asked that the job be not joined to its trace."""
    return bool(opts.get("omc") or options(opts.get("telemetry")).get("omitContext"))


@shielded
def headers_of(context: Context) -> Headers:
    """What the propagators that the application has set make of a context."""
    headers: dict[str, str] = {}
    propagate.inject(headers, context=context)
    return headers


def read(opts: Mapping[str, object]) -> Context:
    """The producer's context on top of the present one, whose own span is left out; that one alone if there is none."""
    return _read(opts) or apart()


def span_context(context: Context) -> SpanContext | None:
    """The span that a context names, if it names one."""
    found = get_current_span(context).get_span_context()
    return found if found.is_valid else None


def apart(context: Context | None = None) -> Context:
    """A context (the present one) without its span: what is started in it begins a trace."""
    return set_span_in_context(INVALID_SPAN, context)


@shielded
def _read(opts: Mapping[str, object]) -> Context | None:
    headers = carrier_of({"tm": metadata(opts), "omc": omits_context(opts)})
    return propagate.extract(headers, context=apart()) if headers else None
