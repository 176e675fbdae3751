"""What OpenTelemetry's packages and those below them log: kept for our own log lines, and shown to nobody else."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG = logging.getLogger("qobserve.tracing")

_LOGGERS: Final = ("opentelemetry", "grpc", "urllib3", "requests")
_FILTERED: Final = "opentelemetry.exporter.otlp.proto.grpc.exporter"


class SdkLogs(logging.Handler):
    """Keeps what the present thread was told last, and passes it on at the level `debug`, without tracebacks.

    An exporter of the SDK tells why it failed in its log only, with a line at every attempt.
    """

    def __init__(self) -> None:
        super().__init__()
        self._heard = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        """Take a record."""
        self._heard.record = record
        LOG.debug("a library says", extra={"library": record.name, "error": self._message(record)})

    def clear(self) -> None:
        """Forget what the present thread was told."""
        self._heard.record = None

    def message(self) -> str | None:
        """What the present thread was told last."""
        record = self._record()
        return None if record is None else self._message(record)

    def facts(self) -> Iterator[object]:
        """The values within it, such as the status of a call."""
        record = self._record()
        yield from record.args if record is not None and isinstance(record.args, tuple) else ()

    def _record(self) -> logging.LogRecord | None:
        record: logging.LogRecord | None = getattr(self._heard, "record", None)
        return record

    @staticmethod
    def _message(record: logging.LogRecord) -> str:
        try:
            return record.getMessage()
        except (TypeError, ValueError):
            return str(record.msg)


SDK_LOGS: Final = SdkLogs()


def keep_sdk_logs() -> None:
    """From now on `SDK_LOGS` alone gets what these packages log, in the whole process; call it once they are loaded."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.WARNING)
        logger.handlers[:] = [SDK_LOGS]
        logger.propagate = False
    # A filter of its own would hide from us that a batch failed for the same reason as the one before.
    logging.getLogger(_FILTERED).filters.clear()
