"""Jobs that wait too long: the age of the oldest one against what is promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import lines, plain, select
from qobserve.alerts.rule import Alert, Board, Group, Record, Severity
from qobserve.alerts.text import OF_QUEUE, TIME, recorded
from qobserve.metrics import age, info, limits, slo
from qobserve.model.states import State

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms

AGE = "queue:bullmq_ready_job_age_seconds:max"
WAIT = "queue:bullmq_wait_objective_seconds:value"
OBJECTIVE = "queue:bullmq_wait_objective_ratio:value"


def group(terms: Terms) -> Group:
    """What is promised, with the default where nothing is, and whether it is kept.

    A paused queue is left out: the jobs wait because somebody wants them to, and `BullMQQueuePaused` says so when it
    takes long.
    """
    options = terms.options
    oldest = select(terms, age.OLDEST, state=f"{State.WAITING}|{State.PRIORITIZED}")
    every = select(terms, info.READ_SUCCESS)
    return Group(
        name="qobserve-age",
        rules=(
            Record(name=AGE, expr=f"max without (state) ({oldest})"),
            Record(name=WAIT, expr=lines(select(terms, slo.WAIT), f"or {every} * 0 + {plain(options.default_wait)}")),
            Record(
                name=OBJECTIVE,
                expr=lines(select(terms, slo.OBJECTIVE), f"or {WAIT} * 0 + {plain(options.default_objective)}"),
            ),
            Alert(
                name="BullMQJobWaitTooLong",
                severity=Severity.CRITICAL,
                board=Board.QUEUE,
                expr=lines(f"{AGE} > {WAIT}", f"unless {select(terms, limits.PAUSED)} == 1"),
                hold=options.age_for,
                summary=f"Jobs of queue {OF_QUEUE} wait too long.",
                description=f"The oldest job that is ready to run has waited for {TIME}; it should have started within "
                f"{recorded(WAIT, 'humanizeDuration')}.",
            ),
        ),
    )
