"""PromQL from metric families: a name or label that the code does not have cannot be written.

Aggregation is `without` the labels that are summed away, seldom `by` those that stay: whatever tells one Redis from
another (`instance`, `bullmq_target`, a label of the user's own) is kept, and two vectors match each other as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qobserve.metrics.family import Family

RATE = "$__rate_interval"
RANGE = "$__range"

OF_TARGET = {"job": "$job", "bullmq_target": "$target"}
"""Which Redis; the second label is there where Prometheus finds the targets through `/discover`."""
OF_JOB = {"job": "$job"}
"""Which exporter: its own process is on `/metrics` only, which has no target."""
ONE = "="
"""A variable that holds one value is compared literally: a queue may be called `a.b` or `{bull}`."""
MANY = "=~"


class UnknownLabelError(ValueError):
    """A family has no such label."""


def select(
    family: Family,
    queues: str | None = None,
    *,
    of: Mapping[str, str] = OF_TARGET,
    suffix: str = "",
    window: str = "",
    **where: str,
) -> str:
    """The series of a family that the variables of the dashboard choose.

    Args:
        family: What is shown.
        queues: How `$prefix` and `$queue` are compared, `ONE` or `MANY`; None where the family is not about queues.
        of: The labels that Prometheus gives to a target, and the variables that choose among their values.
        suffix: What a histogram's series end in.
        window: A range, and what may follow it.
        where: Further labels; several values have `|` between them.

    Raises:
        UnknownLabelError: the family does not have one of the labels.
    """
    matchers = [f'{name}=~"{value}"' for name, value in of.items()]
    named = {"prefix", "queue"} if queues else set[str]()
    unknown = (where.keys() | named) - {*family.labels, *family.optional}
    if unknown:
        raise UnknownLabelError(f"{family.name} has no label {', '.join(sorted(unknown))}")
    if queues:
        matchers += [f'{name}{queues}"${name}"' for name in ("prefix", "queue")]
    matchers += [f'{name}{"=~" if "|" in value else "="}"{value}"' for name, value in where.items()]
    return f"{family.name}{suffix}{{{','.join(matchers)}}}" + (f"[{window}]" if window else "")


def rate(family: Family, queues: str | None = None, *, of: Mapping[str, str] = OF_TARGET) -> str:
    """How fast a counter rises in each second, over all job names."""
    return _nameless(family, f"rate({select(family, queues, of=of, window=RATE)})")


def increase(family: Family, queues: str | None = None, *, window: str = RANGE) -> str:
    """By how much a counter rose, over all job names."""
    return _nameless(family, f"increase({select(family, queues, window=window)})")


def _nameless(family: Family, expression: str) -> str:
    return f"sum without ({', '.join(family.optional)}) ({expression})" if family.optional else expression


def quantile(share: float, family: Family, queues: str, *, by: tuple[str, ...] = ()) -> str:
    """The duration that this share of the runs did not exceed, from a histogram."""
    return f"histogram_quantile({share}, {buckets(family, queues, by=by)})"


def buckets(family: Family, queues: str, *, by: tuple[str, ...] = ()) -> str:
    """The buckets of a histogram, as they filled in each second."""
    series = select(family, queues, suffix="_bucket", window=RATE)
    return f"sum by ({', '.join(('le', *by))}) (rate({series}))"


def whole(op: str, label: str, expression: str) -> str:
    """One value in place of one for each value of a label."""
    return f"{op} without ({label}) ({expression})"


def at_end(series: str) -> str:
    """The largest value of a gauge in the whole time range, the same at each moment of it: something to rank by."""
    return f"max_over_time({series}[{RANGE}] @ end())"


def rate_at_end(family: Family, queues: str | None = None) -> str:
    """How fast a counter rose over the whole time range: something to rank by."""
    series = select(family, queues, window=RANGE)
    return _nameless(family, f"rate({series} @ end())")


def top(count: int, expression: str, rank: str) -> str:
    """So many series, the same ones at each moment; `topk` alone picks anew at every step, and all are drawn."""
    return f"({expression}) and topk({count}, {rank})"


def or_zero(expression: str) -> str:
    """0 in place of nothing, for what is counted."""
    return f"{expression} or vector(0)"
