"""Listens to the follower of a target and hands the spans of each run to the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.run import Run
from qobserve.tracing.ids import facts_of
from qobserve.tracing.kin import Remembered
from qobserve.tracing.links import may_join
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
        told_until: Tells up to which moment, in milliseconds, an earlier life of ours has told the runs of a queue;
            None where that is not known.
    """

    def __init__(
        self,
        options: SpanOptions,
        offer: Callable[[SpanDescription], object],
        *,
        most: int,
        open_job: Callable[[str], Facts | None],
        told_until: Callable[[QueueId], int | None] = lambda _: None,
    ) -> None:
        self._options = options
        self._offer = offer
        self._kin = Remembered(most, open_job)
        self._told_until = told_until

    def take(self, value: Started | Run | Counted) -> None:
        """Send the spans of a run."""
        if isinstance(value, Run):
            if not self._may_be_another_s(value):
                for span in spans_of(value, self._options, self._kin):
                    self._offer(span)
            self._kin.take(value)

    def _may_be_another_s(self, run: Run) -> bool:
        """Whether an earlier life of ours may have told the run in a trace that cannot be known any more.

        That is the producer's trace, if the hash that names it is gone.
        """
        if run.live or run.card is not None or not may_join(facts_of(run), self._options):
            return False
        until = self._told_until(run.queue)
        return until is None or run.ended_ms <= until

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
