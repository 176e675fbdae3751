"""Listens to the follower of a target and hands the spans of each run to the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.run import Run
from qobserve.tracing.kin import Remembered
from qobserve.tracing.spans import spans_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from qobserve.model.keys import QueueId
    from qobserve.model.run import Counted, Started
    from qobserve.tracing.description import SpanDescription
    from qobserve.tracing.ids import Facts
    from qobserve.tracing.options import SpanOptions


class Tracer:
    """Describes the runs of one target as spans; what is not a run makes none.

    Args:
        options: What is wanted of spans.
        offer: Takes a span without waiting.
        most: How many jobs are remembered for links.
        open_job: Tells of a job, by its full key, that has not run yet.
    """

    def __init__(
        self,
        options: SpanOptions,
        offer: Callable[[SpanDescription], object],
        *,
        most: int,
        open_job: Callable[[str], Facts | None],
    ) -> None:
        self._options = options
        self._offer = offer
        self._kin = Remembered(most, open_job)

    def take(self, value: Started | Run | Counted) -> None:
        """Send the spans of a run."""
        if isinstance(value, Run):
            for span in spans_of(value, self._options, self._kin):
                self._offer(span)
            self._kin.take(value)

    # What else a follower tells is about totals.

    def known(self, queue: QueueId) -> None:
        """A queue alone makes no span."""

    def missed(self, queue: QueueId, events: int) -> None:
        """Nor do events that nobody read."""

    def made_up(self, queue: QueueId, kind: str, count: int) -> None:
        """Nor does a corrected total."""

    def partial(self, queue: QueueId, kind: str) -> None:
        """Nor does one that cannot be corrected."""

    def lag(self, queue: QueueId, seconds: float) -> None:
        """Nor does lateness."""

    def forget(self, queue: QueueId) -> None:
        """Runs that were told stay told."""
