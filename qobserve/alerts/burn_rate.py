"""Promises that are being broken: how fast late jobs use up what the objective allows, over several windows.

An objective of 99% over 30 days allows 1% of late jobs. A burn rate of 1 uses that up in exactly 30 days, one of 14.4
uses 2% of it in an hour. Each alert wants a long window, so that little is not taken for much, and a short one, so that
it ends soon after the trouble does.

Late is told from the histogram of waits, by the bucket whose bound is the promise; where no bound equals it, by the
next lower one, so that a few jobs count as late that were in time. The bucket is chosen in Prometheus, by the exported
promise of each queue, so that a changed promise needs no other rules; only changed bounds do.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from qobserve.alerts.age import OBJECTIVE, WAIT
from qobserve.alerts.promql import count_increase, duration, lines, nameless, plain, select
from qobserve.alerts.rule import Alert, Board, Group, Record, Severity
from qobserve.alerts.text import OF_QUEUE, SHARE, recorded
from qobserve.metrics import latency
from qobserve.metrics.family import number

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms

BUCKET = "queue:bullmq_wait_objective_bucket:value"
STARTED = "queue:bullmq_jobs_started:rate5m"
IN_TIME = "queue:bullmq_jobs_started_in_time:rate5m"

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_RATE_WINDOW = 5 * _MINUTE
_PROMISE = (
    f"{recorded(WAIT, 'humanizeDuration')} after they were ready; {recorded(OBJECTIVE, 'humanizePercentage')} of them "
    "should start in time"
)
_HOLD_FAST, _HOLD_SLOW = 2 * _MINUTE, 15 * _MINUTE


@dataclass(frozen=True, slots=True)
class Burn:
    """A burn rate that is too much, if it holds over both windows (seconds)."""

    factor: float
    long: int
    short: int


FAST = (Burn(14.4, _HOUR, 5 * _MINUTE), Burn(6, 6 * _HOUR, 30 * _MINUTE))
SLOW = (Burn(3, _DAY, 2 * _HOUR), Burn(1, 3 * _DAY, 6 * _HOUR))


def group(terms: Terms) -> Group:
    """Long windows are averages of recorded rates: two series a queue, where the buckets themselves are sixteen."""
    windows = sorted({window for burn in (*FAST, *SLOW) for window in (burn.long, burn.short)})
    started = select(terms, latency.WAIT, suffix="_count", window=_RATE_WINDOW)
    buckets = select(terms, latency.WAIT, suffix="_bucket", window=_RATE_WINDOW)
    names = ", ".join(latency.WAIT.optional)
    return Group(
        name="qobserve-burn-rate",
        interval=_MINUTE,
        rules=(
            Record(name=BUCKET, expr=_chosen_bucket(terms.wait_bounds)),
            Record(name=STARTED, expr=nameless(latency.WAIT, f"rate({started})")),
            Record(
                name=IN_TIME,
                expr=lines(
                    f"sum without ({names}, le) (", f"  rate({buckets})", f"  and ignoring ({names}) {BUCKET}", ")"
                ),
            ),
            *(Record(name=late(window), expr=_late(window)) for window in windows),
            _fast(terms),
            _slow(terms),
        ),
    )


def late(window: int) -> str:
    """The recorded share of the jobs that started late."""
    return f"queue:bullmq_jobs_started_late:ratio_rate{duration(window)}"


def lower_bound(wait: float, bounds: tuple[float, ...]) -> float | None:
    """The bound that tells late from in time: the promise itself, or the next lower one; None below all."""
    return max((bound for bound in bounds if bound <= wait), default=None)


def _chosen_bucket(bounds: tuple[float, ...]) -> str:
    """The promise of each queue, with the bound that stands for it as the label `le`, as the exporter prints it."""
    ranges = [f"{WAIT} >= {plain(low)} < {plain(high)}" for low, high in pairwise(bounds)] + [
        f"{WAIT} >= {plain(bounds[-1])}"
    ]
    chosen = (
        f'label_replace({each}, "le", "{number(bound)}", "", "")' for each, bound in zip(ranges, bounds, strict=True)
    )
    return "\nor ".join(chosen)


def _late(window: int) -> str:
    over = "" if window == _RATE_WINDOW else f"[{duration(window)}]"
    in_time, started = (f"avg_over_time({name}{over})" if over else name for name in (IN_TIME, STARTED))
    return f"1 - {in_time} / ({started} > 0)"


def _too_fast(burns: tuple[Burn, ...]) -> str:
    return "\n  or ".join(
        f"{late(burn.long)} > {plain(burn.factor)} * (1 - {OBJECTIVE})\n"
        f"    and {late(burn.short)} > {plain(burn.factor)} * (1 - {OBJECTIVE})"
        for burn in burns
    )


def _expr(terms: Terms, burns: tuple[Burn, ...], volume_window: int) -> str:
    started = count_increase(terms, latency.WAIT, volume_window)
    return lines("(", f"  {_too_fast(burns)}", ")", f"and {started} >= {plain(terms.options.burn_minimum_jobs)}")


def _fast(terms: Terms) -> Alert:
    return Alert(
        name="BullMQWaitBudgetBurnsFast",
        severity=Severity.CRITICAL,
        board=Board.QUEUE,
        expr=_expr(terms, FAST, _HOUR),
        hold=_HOLD_FAST,
        summary=f"Many jobs of queue {OF_QUEUE} start late.",
        description=f"{SHARE} of the jobs of the last hours started later than {_PROMISE}. At this rate what that "
        "allows in a month is used up within days.",
    )


def _slow(terms: Terms) -> Alert:
    return Alert(
        name="BullMQWaitBudgetBurnsSlowly",
        severity=Severity.WARNING,
        board=Board.QUEUE,
        expr=_expr(terms, SLOW, 6 * _HOUR),
        hold=_HOLD_SLOW,
        summary=f"More jobs of queue {OF_QUEUE} start late than should.",
        description=f"{SHARE} of the jobs of the last days started later than {_PROMISE}. If it goes on, the objective "
        "will be missed this month.",
    )
