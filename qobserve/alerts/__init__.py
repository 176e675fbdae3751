"""From the settings to Prometheus's rules: what exists is listed here.

Adding an alert: a file with a function `group` (or a line in the one of its subject) and, for a new file, one line in
`SUBJECTS`; a firing and a quiet case in dashboards/alerts; a page in dashboards/runbooks. `make dashboards` writes the
rules with default settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.alerts import (
    age,
    burn_rate,
    dead_letters,
    events,
    exporter,
    failures,
    length,
    overdue,
    pauses,
    redis_safety,
    stalls,
    workers,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from qobserve.alerts.options import Terms
    from qobserve.alerts.rule import Group

SUBJECTS: tuple[Callable[[Terms], Group], ...] = (
    age.group,
    burn_rate.group,
    overdue.group,
    failures.group,
    workers.group,
    pauses.group,
    stalls.group,
    dead_letters.group,
    events.group,
    redis_safety.group,
    exporter.group,
    length.group,
)
