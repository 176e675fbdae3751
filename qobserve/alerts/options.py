"""What the rules can be told: addresses, the scrape job, and every threshold."""

from __future__ import annotations

from dataclasses import dataclass

RUNBOOKS = "https://qobserve.example/runbooks"
"""Leads nowhere (a reserved name): only who runs the alerts knows where they keep the runbooks."""
GRAFANA = "http://localhost:3000"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertOptions:
    """Everything about the rules that the settings do not say; times are in seconds, ratios from 0 to 1.

    What ends in `_for` is how long the condition holds before the alert fires.

    Attributes:
        job: The scrape job.
        runbook_base_url: The folder with a page for each alert, `<Alert>.md`.
        dashboard_base_url: Grafana.
        with_length_alerts: Whether alerts on lengths are exported too.
        default_wait: Within what time a job should start in a queue for which nothing is promised.
        default_objective: What share of the jobs should, likewise.
        age_for: How long the oldest job is late before it pages.
        burn_minimum_jobs: Fewer jobs started in an hour (six for the slow one) burn no budget worth an alert.
        failure_ratio: What share of the jobs that ended may have failed for good.
        failure_minimum_jobs: Fewer ended jobs in `failure_window` are too few for a ratio.
        stuck_window: In this time no attempt ended; also the longest usual run with which a queue is judged at all.
        overdue_least: A delayed job is late by more than this, whatever is promised.
        scheduler_overdue: How late a scheduler's next run may be.
        counted_window: How far back stalls, missed events and evicted keys are counted.
        dead_letter_age: How old a failed job may get with nobody looking after it.
        lag: For how long events may stay unread.
        memory_ratio: What share of its memory limit Redis may use.
        backlog_length: Jobs ready to run, for the length alert.
        failed_length: Failed jobs that are kept, likewise.
    """

    job: str = "qobserve"
    runbook_base_url: str = RUNBOOKS
    dashboard_base_url: str = GRAFANA
    with_length_alerts: bool = False
    default_wait: float = 300
    default_objective: float = 0.99
    age_for: float = 60
    burn_minimum_jobs: float = 10
    failure_ratio: float = 0.2
    failure_minimum_jobs: float = 20
    failure_window: float = 600
    failure_for: float = 120
    no_workers_for: float = 300
    stuck_window: float = 300
    stuck_for: float = 600
    paused_for: float = 3600
    overdue_least: float = 60
    overdue_for: float = 60
    scheduler_overdue: float = 300
    scheduler_for: float = 120
    counted_window: float = 900
    abandoned_for: float = 300
    dead_letter_age: float = 86400
    dead_letter_for: float = 600
    lag: float = 60
    lag_for: float = 300
    redis_settings_for: float = 600
    memory_ratio: float = 0.9
    memory_for: float = 300
    exporter_down_for: float = 300
    redis_unreachable_for: float = 180
    unreadable_for: float = 600
    backlog_length: float = 1000
    failed_length: float = 1000
    length_for: float = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What rules are made from: the options, and the bounds of the histogram of waits (seconds, rising)."""

    options: AlertOptions
    wait_bounds: tuple[float, ...]
