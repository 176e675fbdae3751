"""What following says of single streams: gaps to the listeners, streams that cannot be read to the log."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qobserve.model.reply import Fault
    from qobserve.reader.follow_ledger import Found
    from qobserve.reader.follow_sink import Sinks
    from qobserve.reader.follow_stream import Stream

LOG = logging.getLogger("qobserve.reader")

_MOST_LINES = 20


class Report:
    """Tells of the streams of one target; of many that cannot be read the log names the first."""

    def __init__(self, sinks: Sinks, alias: str) -> None:
        self._sinks = sinks
        self._alias = alias
        self._lines = _MOST_LINES

    def found(self, stream: Stream, found: Found) -> None:
        """Tell what a comparison of a stream with its ledger came to."""
        if found.missed:
            self._sinks.missed(stream.queue, found.missed)
        for kind, count in found.made_up.items():
            self._sinks.made_up(stream.queue, kind, count)
        for kind in found.partial:
            self._sinks.partial(stream.queue, kind)

    def troubled(self, stream: Stream, fault: Fault) -> None:
        """Log that a stream cannot be read; once for each reason."""
        if stream.troubled(fault.message, time.monotonic()) and self._lines > 0:
            self._lines -= 1
            facts = {"target": self._alias, "queue": str(stream.queue), "error": fault.message}
            LOG.warning("the events of a queue cannot be followed", extra=facts)

    def mended(self, stream: Stream) -> None:
        """Log that a stream can be read again, if it could not."""
        if stream.mended():
            self._lines += 1
            LOG.info(
                "the events of a queue are followed again", extra={"target": self._alias, "queue": str(stream.queue)}
            )
