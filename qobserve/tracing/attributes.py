"""The attributes of spans: OpenTelemetry's messaging conventions, and BullMQ's own names as its telemetry gives them.

Nothing here comes from a job's data, its return value or an error's message.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from qobserve.model.run import Outcome

if TYPE_CHECKING:
    from qobserve.model.run import Run
    from qobserve.tracing.description import AttributeValue
    from qobserve.tracing.options import SpanOptions

ERROR_TYPE = "error.type"
LINK = "bullmq.link"
_OTHER_ERROR = "_OTHER"
_CLASS_NAME = re.compile(r"[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*")
_LONGEST_CLASS_NAME = 128
_LONGEST = 1024


class Attribute(NamedTuple):
    """One attribute: its name, the spans that carry it, and what it holds."""

    name: str
    on: str
    meaning: str


ATTRIBUTES = (
    Attribute("messaging.system", "all", "`bullmq`"),
    Attribute("messaging.destination.name", "all", "the queue's name"),
    Attribute("messaging.operation.name", "all", "`add`, `wait` or `process`"),
    Attribute("messaging.operation.type", "add, process", "`send` or `process`; no word exists for a wait"),
    Attribute("messaging.message.id", "all", "the job's id"),
    Attribute("server.address", "all", "the Redis, where it is known"),
    Attribute("server.port", "all", "its port, likewise"),
    Attribute(
        ERROR_TYPE,
        "process",
        "on a run that failed: the class of the error, `stalled`, or `_OTHER`; on `wait` if the job failed unstarted",
    ),
    Attribute("bullmq.queue.name", "all", "the queue's name"),
    Attribute("bullmq.queue.prefix", "all", "the prefix of its keys"),
    Attribute("bullmq.queue.operation", "all", "as `messaging.operation.name`"),
    Attribute("bullmq.job.id", "all", "the job's id"),
    Attribute("bullmq.job.name", "all", "the job's name, where it is known"),
    Attribute("bullmq.job.scheduler.id", "all", "the scheduler whose iteration the job is"),
    Attribute("bullmq.job.attempts.started", "wait, process", "which run of the job this is, from 1"),
    Attribute("bullmq.job.outcome", "wait, process", "how the run ended"),
    Attribute("bullmq.job.processed.timestamp", "process", "when the run started, in ms"),
    Attribute("bullmq.job.attempt_finished_timestamp", "process", "when it ended, in ms"),
    Attribute("bullmq.worker.name", "process", "the worker's name, if it was given one and the hash still shows it"),
    Attribute(
        LINK,
        "links",
        "what the linked span is: `producer`, `earlier attempt`, `earlier iteration`, `parent` or `child`",
    ),
)
"""All attributes, as docs/tracing.md lists them."""

_TYPES = {"add": "send", "process": "process"}


def attributes(run: Run, options: SpanOptions, operation: str) -> dict[str, AttributeValue]:
    """The attributes of one of a run's spans; what is not known is left out."""
    found: dict[str, AttributeValue | None] = {
        "messaging.system": "bullmq",
        "messaging.destination.name": run.queue.name,
        "messaging.operation.name": operation,
        "messaging.operation.type": _TYPES.get(operation),
        "messaging.message.id": run.job,
        "server.address": options.server_address,
        "server.port": options.server_port,
        "bullmq.queue.name": run.queue.name,
        "bullmq.queue.prefix": run.queue.prefix,
        "bullmq.queue.operation": operation,
        "bullmq.job.id": run.job,
        "bullmq.job.name": run.name or (run.card.name if run.card else None),
        "bullmq.job.scheduler.id": run.card.scheduler if run.card else None,
    }
    if operation != "add":
        found |= _of_run(run)
    if operation == "process":
        found |= _of_processing(run)
    return {name: _clean(value) for name, value in found.items() if value is not None}


def error_type(run: Run) -> str | None:
    """What a run failed of, as a word of few possible ones; None for one that did not fail."""
    if run.outcome is Outcome.STALLED:
        return "stalled"
    if run.outcome not in {Outcome.FAILED, Outcome.RETRIED}:
        return None
    name = run.error or ""
    return name if len(name) <= _LONGEST_CLASS_NAME and _CLASS_NAME.fullmatch(name) else _OTHER_ERROR


def destination(run: Run) -> str:
    """The queue's name as a span's name may hold it."""
    return str(_clean(run.queue.name))


def _of_run(run: Run) -> dict[str, AttributeValue | None]:
    return {
        "bullmq.job.attempts.started": run.attempt,
        "bullmq.job.outcome": run.outcome.value,
    }


def _of_processing(run: Run) -> dict[str, AttributeValue | None]:
    card = run.card
    of_this_run = card is not None and card.attempts_started == run.attempt is not None  # a later one overwrites it
    return {
        "bullmq.job.processed.timestamp": run.started_ms,
        "bullmq.job.attempt_finished_timestamp": run.ended_ms,
        "bullmq.worker.name": card.worker if card and of_this_run else None,
    }


def _clean(value: AttributeValue) -> AttributeValue:
    """A text as OTLP can carry it: bounded, and valid UTF-8."""
    if not isinstance(value, str) or (value.isascii() and len(value) <= _LONGEST):
        return value
    return value[:_LONGEST].encode("utf-8", "backslashreplace").decode()
