"""Nobody watches: no exporter, no Redis, or a queue that cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts.promql import duration, select
from qobserve.alerts.rule import Alert, Board, Group, Severity
from qobserve.alerts.text import OF_QUEUE, OF_REDIS, VALUE
from qobserve.metrics import exporter, info
from qobserve.metrics.family import label

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms


def group(terms: Terms) -> Group:
    """The first three page: while they hold no other alert can."""
    return Group(
        name="qobserve-exporter",
        rules=(_down(terms), _absent(terms), _unreachable(terms), _unreadable(terms)),
    )


def _up(terms: Terms) -> str:
    return f"up{{{label('job', terms.options.job)}}}"


def _down(terms: Terms) -> Alert:
    return Alert(
        name="BullMQExporterDown",
        severity=Severity.CRITICAL,
        board=Board.EXPORTER,
        expr=f"{_up(terms)} == 0",
        hold=terms.options.exporter_down_for,
        summary="The exporter at {{ $labels.instance }} cannot be scraped.",
        description=f"Prometheus has had no answer for {duration(terms.options.exporter_down_for)} (up is "
        f"{VALUE}); nothing is known of its queues, and no alert about them can fire.",
    )


def _absent(terms: Terms) -> Alert:
    return Alert(
        name="BullMQExporterAbsent",
        severity=Severity.CRITICAL,
        board=Board.EXPORTER,
        expr=f"absent({_up(terms)})",
        hold=terms.options.exporter_down_for,
        summary="Prometheus scrapes no exporter under the job {{ $labels.job }}.",
        description="There is no target of this job (absent(up) is {{ $value | humanize }}), so no alert about a queue "
        "can fire. The job's name is what the rules were exported with.",
    )


def _unreachable(terms: Terms) -> Alert:
    return Alert(
        name="BullMQRedisUnreachable",
        severity=Severity.CRITICAL,
        board=Board.EXPORTER,
        expr=f"{select(terms, exporter.UP)} == 0",
        hold=terms.options.redis_unreachable_for,
        summary=f"Redis {OF_REDIS} does not answer.",
        description=f"For {duration(terms.options.redis_unreachable_for)} the exporter could not read it "
        f"({exporter.UP.name} is {VALUE}); producers and workers most likely cannot use it either.",
    )


def _unreadable(terms: Terms) -> Alert:
    return Alert(
        name="BullMQQueueUnreadable",
        severity=Severity.WARNING,
        board=Board.QUEUE,
        expr=f"{select(terms, info.READ_SUCCESS)} == 0",
        hold=terms.options.unreadable_for,
        summary=f"Queue {OF_QUEUE} cannot be read in full.",
        description=f"A key has the wrong type or a command was refused ({info.READ_SUCCESS.name} is {VALUE}); "
        "what could not be read is absent, and alerts on it cannot fire. The exporter's log names it.",
    )
