"""Jobs' cards, read from their hashes in bounded batches: never their data, never what they returned.

Source of the facts: docs/bullmq-format.md#job-hash.
"""

from __future__ import annotations

import builtins
import json
import re
from typing import TYPE_CHECKING

from qobserve.model.job import milliseconds_field
from qobserve.model.keys import text
from qobserve.model.reply import Fault, natural
from qobserve.model.run import Card
from qobserve.model.trace_context import trace_of
from qobserve.reader.connection import pack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.model.questions import Question
    from qobserve.model.reply import Reply
    from qobserve.reader.follow_line import Line

MOST_AT_ONCE = 500

FIELDS = (b"name", b"timestamp", b"opts", b"parentKey", b"rjk", b"pb", b"ats", b"atm", b"attemptsMade", b"processedOn")
_STACK = b"stacktrace"
_LARGEST_OPTS = 65_536
_LARGEST_STACK = 1 << 20
_MOST = 2**53
_LONGEST_TEXT = 1_024
_NODE_CLASS = re.compile(r"([A-Za-z_$][\w$]*)(?: \[\w+\])?")
"""Node.js puts the code of an error of its own behind the class: `RangeError [ERR_OUT_OF_RANGE]`."""
_PYTHON_CLASS = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_ENDINGS = ("Error", "Exception", "Warning", "Interrupt", "Exit", "Timeout", "Failure", "Fault")
_BUILTIN = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)
_LONGEST_CLASS = 100
_PYTHON = "Traceback (most recent call last):"
_CHAINS = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_NO_TRACE = "NoneType: None"
"""How Python prints a trace where nothing was raised: the worker failed the job itself, on its child's behalf."""


def card_command(question: Question) -> bytes:
    """Ask for a job's card."""
    return pack(b"HMGET", question.queue.key(question.job), *FIELDS, *((_STACK,) if question.error else ()))


def card_of(reply: Reply) -> Card | None:
    """Understand the reply to `card_command`; None where the hash is gone, or is none."""
    if isinstance(reply, Fault) or not isinstance(reply, list):
        return None
    fields: Sequence[bytes | None] = [field if isinstance(field, bytes) else None for field in reply]
    if not any(field is not None for field in fields) or len(fields) < len(FIELDS):
        return None
    name, timestamp, opts, parent, scheduler, worker, ats, atm, made, processed = fields[: len(FIELDS)]
    options = _options(opts)
    context = trace_of(options.get("tm"))
    return Card(
        name=_text(name),
        timestamp_ms=milliseconds_field(timestamp),
        delay_ms=_number(options.get("delay")),
        attempts=_number(options.get("attempts")),
        traceparent=context[0] if context else None,
        tracestate=context[1] if context else None,
        omits_context=bool(options.get("omc")),
        parent=_text(parent),
        scheduler=_text(scheduler),
        worker=_text(worker),
        attempts_started=natural(ats),
        attempts_made=natural(made if atm is None else atm),
        processed_ms=milliseconds_field(processed),
        error=error_class(fields[len(FIELDS)]) if len(fields) > len(FIELDS) else None,
    )


async def read_cards(line: Line, questions: Sequence[Question]) -> dict[Question, Card | None]:
    """Read cards in batches; those of queues that are on another server are left out.

    Raises:
        RedisError: The server does not serve us.
    """
    found: dict[Question, Card | None] = {}
    for first in range(0, len(questions), MOST_AT_ONCE):
        asked = questions[first : first + MOST_AT_ONCE]
        async with line.talk() as talk:
            talk.send(b"".join(map(card_command, asked)))
            for question in asked:
                (reply,) = await talk.receive(1)
                if not line.is_elsewhere(reply):
                    found[question] = card_of(reply)
                await line.breathe()
    return found


def error_class(stacktrace: bytes | None) -> str | None:
    """The class of the newest failure in `stacktrace`; never a message.

    Node.js writes `TypeError: message` and then frames, Python first frames and then `package.ClassName: message`.
    """
    if stacktrace is None or len(stacktrace) > _LARGEST_STACK:
        return None
    try:
        traces = json.loads(stacktrace)
    except (ValueError, RecursionError):
        return None
    if not isinstance(traces, list) or not traces or not isinstance(traces[-1], str):
        return None
    trace = traces[-1].strip()
    head = _telling(trace).partition(":")[0]
    match = (_PYTHON_CLASS if trace.startswith(_PYTHON) else _NODE_CLASS).fullmatch(head)
    return match[1] if match and _is_class(match[1]) else None


def _is_class(name: str) -> bool:
    """Whether this is called as classes of errors are; else it may be the first word of a message."""
    last = name.rpartition(".")[2]
    return len(name) <= _LONGEST_CLASS and (last.endswith(_ENDINGS) or last in _BUILTIN)


def _telling(trace: str) -> str:
    """The line of a stack trace that begins with the class; a message may be of any number of lines."""
    lines = trace.splitlines() or [""]
    if lines[0] != _PYTHON:
        return "" if trace == _NO_TRACE else lines[0]
    # The last of a chain; after the frames, which are indented, comes the class.
    begun = max(n for n, line in enumerate(lines) if line == _PYTHON and (n == 0 or lines[n - 2] in _CHAINS))
    return next((line for line in lines[begun + 1 :] if line[:1].strip()), "")


def _options(raw: bytes | None) -> dict[str, object]:
    if raw is None or len(raw) > _LARGEST_OPTS:
        return {}
    try:
        options = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return options if isinstance(options, dict) else {}


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - NaN, of an int too large for math.isnan too
        return 0
    return int(min(max(value, 0), _MOST))


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else text(raw[:_LONGEST_TEXT])
