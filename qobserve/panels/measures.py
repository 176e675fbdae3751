"""Expressions that more than one dashboard needs; `how` is `ONE` queue or `MANY`."""

from __future__ import annotations

from qobserve.metrics import age, depth, latency, limits, slo, throughput
from qobserve.model.states import State
from qobserve.panels.promql import at_end, quantile, rate, rate_at_end, select, top, whole

READY_STATES = f"{State.WAITING}|{State.PRIORITIZED}"
BACKLOG_STATES = f"{State.WAITING}|{State.PAUSED}|{State.PRIORITIZED}"
OPEN_STATES = f"{BACKLOG_STATES}|{State.DELAYED}|{State.WAITING_CHILDREN}|{State.ACTIVE}"
QUANTILES = (0.5, 0.95, 0.99)
MOST_LINES = 10
"""There may be thousands of queues; so many are drawn."""


def oldest(how: str) -> str:
    """How long the job has waited that has waited longest; in a paused queue too."""
    return whole("max", "state", select(age.OLDEST, how, state=READY_STATES))


def objective(how: str) -> str:
    """Within what time a job should start; where the settings promise nothing, `$objective`."""
    return f"({select(slo.WAIT, how)} or {oldest(how)} * 0 + $objective)"


def share_of_objective(how: str) -> str:
    """How much of its objective the oldest waiting job has used up; above 1 the objective is broken."""
    return f"{oldest(how)} / {objective(how)}"


def backlog(how: str) -> str:
    """Jobs that wait for a worker; over both key layouts also in a paused queue."""
    return whole("sum", "state", select(depth.JOBS, how, state=BACKLOG_STATES))


def failure_ratio(how: str) -> str:
    """Which share of the jobs that ended had failed for good; absent while none ends."""
    failed, completed = rate(throughput.FAILED, how), rate(throughput.COMPLETED, how)
    return f"{failed} / ({failed} + {completed} > 0)"


def attempts_failure_ratio(how: str) -> str:
    """Which share of the attempts failed, those included that are retried."""
    failed, completed = rate(throughput.ATTEMPTS_FAILED, how), rate(throughput.COMPLETED, how)
    return f"{failed} / ({failed} + {completed} > 0)"


def blocked(how: str) -> str:
    """1 for a queue that anything keeps from working."""
    return whole("max", "reason", select(limits.BLOCKED, how))


def oldest_of_worst(how: str) -> str:
    """The oldest waiting jobs, of the queues where they were oldest."""
    return top(MOST_LINES, oldest(how), whole("max", "state", at_end(select(age.OLDEST, how, state=READY_STATES))))


def largest_backlogs(how: str) -> str:
    """Jobs that wait, of the queues where most did."""
    return top(MOST_LINES, backlog(how), whole("sum", "state", at_end(select(depth.JOBS, how, state=BACKLOG_STATES))))


def busiest(how: str) -> str:
    """Completed jobs a second, of the queues that completed most."""
    return top(MOST_LINES, rate(throughput.COMPLETED, how), rate_at_end(throughput.COMPLETED, how))


def most_failing(how: str) -> str:
    """Share of failed jobs, of the queues where most failed."""
    return top(MOST_LINES, failure_ratio(how), rate_at_end(throughput.FAILED, how))


def wait_quantile(share: float, how: str) -> str:
    """How long this share of the jobs at most waited."""
    return quantile(share, latency.WAIT, how)


def processing_quantile(share: float, how: str) -> str:
    """How long this share of the runs at most took."""
    return quantile(share, latency.PROCESSING, how)
