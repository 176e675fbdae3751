"""PromQL from metric families: a name or label that the code does not have cannot be written.

Two vectors match each other on all the labels that they have in common, whatever Prometheus's configuration has added
to them: `instance`, the `bullmq_target` of `/discover`, a cluster. So nothing aggregates `by`, only `without`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.family import label

if TYPE_CHECKING:
    from qobserve.alerts.options import Terms
    from qobserve.metrics.family import Family

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


class UnknownLabelError(ValueError):
    """A family has no such label."""


def duration(seconds: float) -> str:
    """A time as Prometheus writes it: the largest unit that is not broken."""
    milliseconds = round(seconds * 1000)
    for unit, letter in _UNITS:
        if milliseconds and milliseconds % (unit * 1000) == 0:
            return f"{milliseconds // (unit * 1000)}{letter}"
    return f"{milliseconds}ms"


def select(terms: Terms, family: Family, *, suffix: str = "", window: float | None = None, **where: str) -> str:
    """The series of a family in the scrape job.

    Args:
        terms: Which job.
        family: What is asked for.
        suffix: What a histogram's series end in.
        window: A range in seconds.
        where: Further labels; several values have `|` between them.

    Raises:
        UnknownLabelError: the family does not have one of the labels.
    """
    unknown = where.keys() - {*family.labels, *family.optional}
    if unknown:
        raise UnknownLabelError(f"{family.name} has no label {', '.join(sorted(unknown))}")
    matchers = [label("job", terms.options.job)]
    matchers += [f'{name}=~"{value}"' if "|" in value else label(name, value) for name, value in where.items()]
    series = f"{family.name}{suffix}{{{','.join(matchers)}}}"
    return series if window is None else f"{series}[{duration(window)}]"


def plain(number: float) -> str:
    """A number as a person writes it."""
    return f"{number:.12g}"


def nameless(family: Family, expr: str) -> str:
    """One series for all job names, which only some settings tell apart."""
    return f"sum without ({', '.join(family.optional)}) ({expr})" if family.optional else expr


def increase(terms: Terms, family: Family, window: float) -> str:
    """By how much a counter rose, over all job names."""
    return nameless(family, f"increase({select(terms, family, window=window)})")


def count_increase(terms: Terms, family: Family, window: float) -> str:
    """By how much a histogram's count rose, over all job names."""
    return nameless(family, f"increase({select(terms, family, suffix='_count', window=window)})")


def lines(*parts: str) -> str:
    """An expression over several lines."""
    return "\n".join(parts)
