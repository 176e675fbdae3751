"""Log lines for people and machines: logfmt or JSON, one line each, to standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["logfmt", "json"]

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}


class FactsFormatter(logging.Formatter):
    """Turns a record and the facts in its `extra` into one line; tracebacks appear only when `tracebacks` is set."""

    def __init__(self, *, tracebacks: bool) -> None:
        super().__init__()
        self._tracebacks = tracebacks

    def facts(self, record: logging.LogRecord) -> dict[str, object]:
        """The fields of the line, in their order; a fact that is None says nothing and is left out."""
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
        }
        fields |= {
            name: value for name, value in record.__dict__.items() if name not in _STANDARD and value is not None
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            fields.setdefault("error", f"{type(error).__name__}: {error}")
            if self._tracebacks:
                fields["traceback"] = self.formatException(record.exc_info)
        return fields


class LogfmtFormatter(FactsFormatter):
    """`key=value` pairs; a value with a space, a quote or a control character is quoted."""

    def format(self, record: logging.LogRecord) -> str:
        """The line without its end."""
        return logfmt(self.facts(record))


class JsonFormatter(FactsFormatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line without its end."""
        return _printable(json.dumps(self.facts(record), ensure_ascii=False, default=str))


def logfmt(fields: Mapping[str, object]) -> str:
    """The fields as a logfmt line."""
    return " ".join(f"{name}={_logfmt_value(value)}" for name, value in fields.items())


def configure(level: Level, form: Format, stream: TextIO | None = None) -> None:
    """Send what the package logs from `level` on, and other libraries' warnings, to the stream (standard error)."""
    tracebacks = level == "debug"
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.setFormatter((JsonFormatter if form == "json" else LogfmtFormatter)(tracebacks=tracebacks))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("qobserve").setLevel(level.upper())
    # A full disk or a closed pipe behind standard error must not make every log call print a traceback.
    logging.raiseExceptions = tracebacks


def _logfmt_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = f"{value:g}" if isinstance(value, float) else str(value)
    plain = text and text.isprintable() and not any(char in ' ="\\' for char in text)
    return text if plain else _printable(json.dumps(text, ensure_ascii=False))


def _printable(text: str) -> str:
    """The text with what could move a terminal's cursor escaped; inside JSON strings it means the same."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
