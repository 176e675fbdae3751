"""Work that nobody does: no workers, or workers that do nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import count_increase, duration, increase, lines, nameless, plain, select
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_QUEUE, VALUE
from qobserve.metrics import depth, events, latency, limits, throughput, workers
from qobserve.model.blocked import Reason
from qobserve.model.states import State

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms

BACKLOG = f"{State.WAITING}|{State.PAUSED}|{State.PRIORITIZED}"
_USUALLY = 21600
"""Over how many seconds a queue's usual run is taken."""


def group(terms: Terms) -> Group:
    """Both alerts leave a paused queue alone: it has nothing that is ready."""
    return Group(name="qobserve-workers", rules=(_no_workers(terms), _stuck(terms)))


def _no_workers(terms: Terms) -> Alert:
    missing = select(terms, limits.BLOCKED, reason=Reason.NO_WORKERS)
    return Alert(
        name="BullMQNoWorkers",
        severity=Severity.WARNING,
        board=Board.QUEUE,
        expr=lines(
            f"sum without (state) ({select(terms, depth.JOBS, state=BACKLOG)})",
            f"and ignoring (reason) {missing} == 1",
            f"unless {select(terms, limits.PAUSED)} == 1",
        ),
        hold=terms.options.no_workers_for,
        summary=f"No worker serves queue {OF_QUEUE}.",
        description=f"{VALUE} jobs wait, or a delayed one is due, and no worker is connected to Redis for this queue.",
    )


def _stuck(terms: Terms) -> Alert:
    """A queue whose runs usually take longer than the window is left to the alerts on age: it ends few jobs."""
    window = terms.options.stuck_window
    completed, failed = (increase(terms, each, window) for each in (throughput.COMPLETED, throughput.ATTEMPTS_FAILED))
    runs = select(terms, latency.PROCESSING, suffix="_sum", window=_USUALLY)
    running = nameless(latency.PROCESSING, f"increase({runs})")
    return Alert(
        name="BullMQQueueStuck",
        severity=Severity.CRITICAL,
        board=Board.QUEUE,
        expr=lines(
            f"{select(terms, depth.READY)} > 0",
            f"and {select(terms, workers.WORKERS)} > 0",
            f"and {completed}",
            f"  + {failed} == 0",
            f"unless {select(terms, limits.RATE_LIMITED)} > 0",
            f"unless {select(terms, events.LAG)} > {plain(terms.options.lag)}",
            f"unless {running}",
            f"  / {count_increase(terms, latency.PROCESSING, _USUALLY)} > {plain(window)}",
        ),
        hold=terms.options.stuck_for,
        summary=f"Queue {OF_QUEUE} is stuck.",
        description=f"{VALUE} jobs are ready and workers are connected, but no attempt has ended for at least "
        f"{duration(window + terms.options.stuck_for)}.",
    )
