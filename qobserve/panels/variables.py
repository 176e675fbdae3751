"""The variables at the top of every dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.depth import JOBS
from qobserve.metrics.exporter import UP
from qobserve.panels.grafana import DATASOURCE, Variable
from qobserve.panels.promql import MANY, ONE

if TYPE_CHECKING:
    from qobserve.panels.grafana import Fields

_ALL: Fields = {"selected": True, "text": ["All"], "value": ["$__all"]}
_ALPHABETICAL = 1
_AT_EVERY_CHANGE_OF_THE_RANGE = 2

DEFAULT_OBJECTIVE_SECONDS = 300
"""Within what time a job should start where the settings promise nothing; `$objective` can be changed."""


def _asked(name: str, label: str, query: str, **more: object) -> Variable:
    variable = Variable(
        name=name,
        label=label,
        dataSource=DATASOURCE,
        query={"query": query, "refId": f"variable-{name}"},
        refresh=_AT_EVERY_CHANGE_OF_THE_RANGE,
        sort=_ALPHABETICAL,
        **more,
    )
    variable._current = _ALL if more.get("multi") else {}  # noqa: SLF001 - grafanalib has no argument for it
    return variable


def _datasource() -> Variable:
    variable = Variable(name="datasource", label="Data source", query="prometheus", type="datasource")
    variable._current = {}  # noqa: SLF001 - as above
    return variable


def of_target() -> list[Variable]:
    """Which Prometheus, which scrape job, which Redis."""
    return [
        _datasource(),
        _asked("job", "Job", f"label_values({UP.name}, job)", multi=True, includeAll=True),
        _asked(
            "target",
            "Redis",
            f'label_values({UP.name}{{job=~"$job"}}, bullmq_target)',
            multi=True,
            includeAll=True,
            # Without discovery by HTTP the label is absent, which this matches.
            allValue=".*",
        ),
    ]


def of_queues(how: str) -> list[Variable]:
    """Which prefix and which queues: any number of them (`MANY`) or exactly one (`ONE`)."""
    chosen = {"multi": True, "includeAll": True, "allValue": ".*"} if how == MANY else {}
    where = 'job=~"$job",bullmq_target=~"$target"'
    return [
        _asked("prefix", "Prefix", f"label_values({JOBS.name}{{{where}}}, prefix)", **chosen),
        _asked("queue", "Queue", f'label_values({JOBS.name}{{{where},prefix{how}"$prefix"}}, queue)', **chosen),
    ]


def objective() -> Variable:
    """What counts as too long for queues for which the settings promise nothing."""
    text = str(DEFAULT_OBJECTIVE_SECONDS)
    variable = Variable(name="objective", label="Objective where none is set, in s", query=text, type="textbox")
    variable._current = {"selected": True, "text": text, "value": text}  # noqa: SLF001 - as above
    return variable


__all__ = ["DEFAULT_OBJECTIVE_SECONDS", "ONE", "objective", "of_queues", "of_target"]
