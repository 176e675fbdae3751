"""One queue: how old its jobs are, where they are, how long they wait and run, how they fail, and what comes next."""

from __future__ import annotations

from qobserve.metrics import (
    age,
    depth,
    drain,
    events,
    info,
    latency,
    limits,
    payload,
    schedulers,
    slo,
    throughput,
    workers,
)
from qobserve.panels import variables
from qobserve.panels.board import About, board
from qobserve.panels.charts import heatmap, lines, number, timeline
from qobserve.panels.frame import NEUTRAL, NONE_IS_GOOD, OF_OBJECTIVE, ask, ask_now
from qobserve.panels.links import away, to_bull_board
from qobserve.panels.measures import (
    MOST_LINES,
    QUANTILES,
    attempts_failure_ratio,
    backlog,
    failure_ratio,
    objective,
    oldest,
    processing_quantile,
    share_of_objective,
    wait_quantile,
)
from qobserve.panels.promql import ONE, RANGE, buckets, increase, quantile, rate, select, top
from qobserve.panels.tables import Column, table

ENDED = f"({rate(throughput.COMPLETED, ONE)} + {rate(throughput.FAILED, ONE)} > 0)"
AS_LIMIT = [
    {
        "matcher": {"id": "byName", "options": "objective"},
        "properties": [
            {"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}},
            {"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}},
            {"id": "custom.fillOpacity", "value": 0},
        ],
    }
]
"""The series of this name is drawn as a limit."""
SHRINKING = "the backlog is gone or shrinks"
ATTEMPTS = f"({rate(throughput.COMPLETED, ONE)} + {rate(throughput.ATTEMPTS_FAILED, ONE)})"


def by_name(family: throughput.Family) -> str:
    """Jobs a second of the names that have most; one line without a name where names are no label."""
    series = f"sum by (name) (rate({select(family, ONE, window='$__rate_interval')}))"
    rank = f"sum by (name) (rate({select(family, ONE, window=RANGE)} @ end()))"
    return top(MOST_LINES, series, rank)


def promised_wait() -> str:
    """Within what time that share of the jobs started for which the settings promise it."""
    share = f"max({select(slo.OBJECTIVE, ONE)})"
    return f"histogram_quantile(scalar({share}), {buckets(latency.WAIT, ONE)}) and on () {share}"


def slowest_names() -> str:
    """The 95th percentile of the processing time of the names with most runs."""
    count = f"sum by (name) (rate({select(latency.PROCESSING, ONE, suffix='_count', window=RANGE)} @ end()))"
    return top(MOST_LINES, quantile(0.95, latency.PROCESSING, ONE, by=("name",)), count)


NOW = [
    number(
        "Oldest waiting job",
        "For how long the job has been ready that has waited longest. It counts in a paused queue too; 0 is an empty "
        "one.",
        "s",
        ask_now(f"max({oldest(ONE)})"),
        runbook="BullMQJobWaitTooLong",
    ),
    number(
        "Of its objective",
        "The age of the oldest job as a share of what was promised for this queue, or of $objective seconds where "
        "nothing was. From 100% on users wait too long.",
        "percentunit",
        ask_now(f"max({share_of_objective(ONE)})"),
        limits=OF_OBJECTIVE,
        runbook="BullMQJobWaitTooLong",
    ),
    number(
        "Waiting jobs",
        "Jobs that wait for a worker: waiting, prioritized, and those of a paused queue.",
        "short",
        ask_now(f"sum({backlog(ONE)})"),
    ),
    number(
        "Empty in",
        "When the backlog will be gone if it shrinks as it did in the last five minutes. No number: it does not "
        "shrink.",
        "s",
        ask_now(f"max({select(drain.DRAIN, ONE)})", only_if=SHRINKING),
        missing="not shrinking",
    ),
    number(
        "Workers connected",
        "Workers connected to Redis for this queue, whatever their concurrency. 0 with waiting jobs: nothing will be "
        "done.",
        "none",
        ask_now(f"max({select(workers.WORKERS, ONE)})"),
        limits=((None, "orange"), (1, "green")),
        runbook="BullMQNoWorkers",
    ),
    number(
        "Paused",
        "Whether somebody paused the queue. Its jobs wait until it is resumed.",
        "none",
        ask_now(f"max({select(limits.PAUSED, ONE)})"),
        limits=NONE_IS_GOOD,
        words={"0": ("running", "green"), "1": ("paused", "orange")},
        runbook="BullMQQueuePaused",
    ),
    timeline(
        "Why work is not done",
        "A row for each reason, red while it holds. Two at once: the upper ones matter first, since a paused queue "
        "needs no worker.",
        [ask(f"max by (reason) ({select(limits.BLOCKED, ONE)})", "{{reason}}")],
        {"0": ("no", "green"), "1": ("yes", "red")},
        size=(16, 7),
    ),
    table(
        "What it is",
        "Library and version that the newest Queue object wrote, and the generation of the key layout. Empty for "
        "Python and for BullMQ before 5.20.",
        [
            Column(title="Seen", expr=select(info.INFO, ONE), words={"1": ("yes", "green")}),
            Column(
                title="All read", expr=select(info.READ_SUCCESS, ONE), words={"0": ("no", "red"), "1": ("yes", "green")}
            ),
        ],
        keys={"library": "Library", "version": "Version", "layout": "Layout", "prefix": "Prefix", "queue": "Queue"},
        size=(8, 7),
    ),
]

DEPTH = [
    lines(
        "Jobs by state",
        "Where the jobs are. Waiting that grows while active stays level: too few workers. Completed and failed fall "
        "when jobs are removed.",
        "short",
        [ask(f"sum by (state) ({select(depth.JOBS, ONE)})", "{{state}}")],
    ),
    lines(
        "Age of the oldest job by state",
        "Waiting and prioritized: how long users wait. Active: a job that hangs. Failed: how long nobody has looked. "
        "The objective is the dashed line of its own.",
        "s",
        [
            ask(f"max by (state) ({select(age.OLDEST, ONE)})", "{{state}}"),
            ask(f"max({objective(ONE)})", "objective"),
        ],
        overrides=AS_LIMIT,
        runbook="BullMQFailedJobsOld",
    ),
    lines(
        "Overdue delayed job",
        "For how long the first delayed job has been due without being moved to wait. Above some seconds: no worker "
        "is there to promote it.",
        "s",
        [ask(f"max({select(age.OVERDUE, ONE)})", "overdue")],
        size=(8, 7),
        runbook="BullMQDelayedJobsOverdue",
    ),
    lines(
        "Drain time",
        "Seconds until the backlog is gone at the pace of the last five minutes. Gaps: it does not shrink; workers "
        "are too few or too slow.",
        "s",
        [ask(f"max({select(drain.DRAIN, ONE)})", "empty in", only_if=SHRINKING)],
        size=(8, 7),
    ),
    lines(
        "Concurrency",
        "Active jobs against the queue's global limit, workers, and jobs ready to run. Active at the limit for long: "
        "the limit is what makes jobs wait. No limit line: none is set.",
        "short",
        [
            ask(f"sum({select(depth.JOBS, ONE, state='active')})", "active"),
            ask(
                f"min({select(limits.CONCURRENCY_LIMIT, ONE)})",
                "global limit",
                only_if="the queue has a global concurrency",
            ),
            ask(f"max({select(workers.WORKERS, ONE)})", "workers"),
            ask(f"sum({select(depth.READY, ONE)})", "ready"),
        ],
        size=(8, 7),
    ),
    lines(
        "Rate limit",
        "For how long no worker will take a job because of a rate limit. A saw is normal; together with an age that "
        "climbs, the limit is too low for what comes in.",
        "s",
        [ask(f"max({select(limits.RATE_LIMITED, ONE)})", "limited for", only_if="the server knows the limit")],
        size=(8, 7),
    ),
    lines(
        "Jobs that nobody holds",
        "Active jobs whose worker is gone; they will be stalled and run again. It should be 0 again after half a "
        "minute.",
        "none",
        [ask(f"sum({select(limits.UNLOCKED, ONE)})", "without a lock")],
        size=(8, 7),
        runbook="BullMQJobsAbandoned",
    ),
    lines(
        "Groups",
        "BullMQ Pro's groups that have jobs waiting, by what holds them back. Nothing: the queue has none.",
        "none",
        [ask(f"sum by (status) ({select(depth.GROUPS, ONE)})", "{{status}}", only_if="BullMQ Pro's groups are used")],
        size=(8, 7),
    ),
]

DURATIONS = [
    lines(
        "Wait",
        "How long jobs that started now had waited: half of them at most p50, 1 in 20 longer than p95. The promised "
        "share above the dashed objective: the promise is broken. A dot is a job with a trace, a click opens it.",
        "s",
        [
            *(
                ask(wait_quantile(share, ONE), f"p{share * 100:.0f}", exemplar=share == QUANTILES[-1])
                for share in QUANTILES
            ),
            ask(promised_wait(), "promised share", only_if="the settings promise a share"),
            ask(f"max({select(slo.WAIT, ONE)})", "objective", only_if="the settings promise one"),
        ],
        size=(12, 9),
        overrides=AS_LIMIT,
        runbook="BullMQWaitBudgetBurnsFast",
    ),
    heatmap(
        "Wait, all jobs",
        "Each cell: how many jobs a second waited that long. Two bands are two kinds of jobs, or retries; a dot is a "
        "job with a trace, a click opens it.",
        "s",
        ask(buckets(latency.WAIT, ONE), exemplar=True),
    ),
    lines(
        "Processing",
        "How long runs took that ended now, whatever came of them. p99 that climbs alone: a few hang; all together: "
        "what the jobs call is slow. A dot opens its trace.",
        "s",
        [
            ask(processing_quantile(share, ONE), f"p{share * 100:.0f}", exemplar=share == QUANTILES[-1])
            for share in QUANTILES
        ],
        size=(12, 9),
    ),
    heatmap(
        "Processing, all runs",
        "Each cell: how many runs a second took that long. A band at a round number is often a timeout; a dot is a "
        "job with a trace, a click opens it.",
        "s",
        ask(buckets(latency.PROCESSING, ONE), exemplar=True),
    ),
]

OUTCOMES = [
    lines(
        "Throughput",
        "Jobs a second. Added above completed for long: the backlog grows. Both 0 with waiting jobs: nothing is taken.",
        "ops",
        [
            ask(f"sum({rate(throughput.ADDED, ONE)})", "added"),
            ask(f"sum({rate(throughput.COMPLETED, ONE)})", "completed"),
            ask(f"sum({rate(throughput.FAILED, ONE)})", "failed"),
        ],
    ),
    lines(
        "Failures",
        "Share of jobs that failed for good, and of attempts that failed at all. Attempts high and jobs low: retries "
        "hide the trouble, and cost throughput.",
        "percentunit",
        [
            ask(f"max({failure_ratio(ONE)})", "jobs failed for good"),
            ask(f"max({attempts_failure_ratio(ONE)})", "attempts failed"),
        ],
        limits=((None, "green"), (0.05, "red")),
        most=1,
        runbook="BullMQFailureRatioHigh",
    ),
    lines(
        "Attempts for each job",
        "Attempts made for each job that ended: 1 is all at the first go. It climbs before jobs start to fail for "
        "good.",
        "none",
        [ask(f"max({ATTEMPTS} / {ENDED})", "attempts")],
        size=(8, 7),
    ),
    lines(
        "Retries and stalls",
        "A second: attempts to be made again, jobs with none left, and jobs taken from a worker that lost them. Any "
        "stall means a job may run twice: a crashed worker, or one whose event loop is blocked.",
        "ops",
        [
            ask(f"sum({rate(throughput.RETRIED, ONE)})", "retried"),
            ask(f"sum({rate(throughput.RETRIES_EXHAUSTED, ONE)})", "no attempt left"),
            ask(f"sum({rate(throughput.STALLED, ONE)})", "stalled"),
        ],
        size=(8, 7),
        runbook="BullMQJobsStalled",
    ),
    lines(
        "Delayed, deduplicated, removed",
        "Jobs a second that were put off, turned away as duplicates, or removed by hand. Removals that nobody knows "
        "of lose work.",
        "ops",
        [
            ask(f"sum({rate(throughput.DELAYED, ONE)})", "delayed"),
            ask(f"sum({rate(throughput.DEDUPLICATED, ONE)})", "deduplicated"),
            ask(f"sum({rate(throughput.REMOVED, ONE)})", "removed"),
        ],
        size=(8, 7),
    ),
    number(
        "Completed in this range",
        "Jobs completed in the time range above.",
        "short",
        ask_now(f"sum({increase(throughput.COMPLETED, ONE)})"),
        size=(6, 4),
    ),
    number(
        "Failed in this range",
        "Jobs that failed for good in the time range above. Look at them in Bull Board, or in the failed state.",
        "short",
        ask_now(f"sum({increase(throughput.FAILED, ONE)})"),
        size=(6, 4),
        limits=NONE_IS_GOOD,
    ),
    number(
        "Stalled in this range",
        "Times that a job was taken from a worker that had lost it, in the time range above.",
        "short",
        ask_now(f"sum({increase(throughput.STALLED, ONE)})"),
        size=(6, 4),
        limits=NONE_IS_GOOD,
        runbook="BullMQJobsStalled",
    ),
    number(
        "Largest payload",
        "Bytes of the largest job data that was sampled. Some kilobytes are fine; megabytes fill Redis and slow "
        "every move.",
        "bytes",
        ask_now(f"max({select(payload.DATA_BYTES, ONE)})", only_if="a job could be sampled"),
        size=(6, 4),
        limits=((None, "green"), (100_000, "orange"), (1_000_000, "red")),
    ),
]

NAMES = [
    lines(
        "Completed, by job name",
        f"Jobs a second of the {MOST_LINES} names that completed most. One line without a name: the exporter runs "
        "without --metrics.job-names.",
        "ops",
        [ask(by_name(throughput.COMPLETED), "{{name}}")],
        size=(8, 8),
    ),
    lines(
        "Failed attempts, by job name",
        f"Failed attempts a second of the {MOST_LINES} names that failed most: which kind of job is to blame.",
        "ops",
        [ask(by_name(throughput.ATTEMPTS_FAILED), "{{name}}")],
        size=(8, 8),
    ),
    lines(
        "Processing p95, by job name",
        f"1 in 20 runs took longer, for the {MOST_LINES} names with most runs: which kind of job takes the workers' "
        "time.",
        "s",
        [ask(slowest_names(), "{{name}}")],
        size=(8, 8),
    ),
]

SCHEDULES = [
    table(
        "Next runs",
        "When each scheduler's next job is due. In the past: it is overdue, and its jobs are not made; soonest last. "
        "Only the first due are known.",
        [
            Column(
                title="Due in",
                expr=f"{select(schedulers.NEXT_RUN, ONE)} - time()",
                unit="s",
                limits=((None, "red"), (-5, "green")),
                only_if="the queue has a scheduler",
            )
        ],
        keys={"scheduler": "Scheduler"},
        size=(12, 8),
        missing="none",
        runbook="BullMQSchedulerOverdue",
    ),
    number(
        "Schedulers",
        "Job schedulers, or repeatable jobs of older versions, that the queue has.",
        "none",
        ask_now(f"max({select(schedulers.SCHEDULERS, ONE)})"),
        size=(4, 8),
        limits=NEUTRAL,
    ),
    lines(
        "Next delayed job",
        "Seconds until the first delayed job is due. Below 0 for long: nobody promotes it.",
        "s",
        [ask(f"min({select(age.NEXT_DELAYED, ONE)}) - time()", "due in", only_if="a job is delayed")],
        size=(8, 8),
    ),
]

TRUST = [
    lines(
        "Events not read yet",
        "For how long the queue has had events that the exporter had not read. Above some seconds the counters here "
        "lag.",
        "s",
        [ask(f"max({select(events.LAG, ONE)})", "lag")],
        size=(8, 7),
        runbook="BullMQEventsLagging",
    ),
    lines(
        "Events missed",
        "Events that BullMQ trimmed before they could be read, in each step. Above 0 durations are a sample; raise "
        "maxLenEvents of the queue.",
        "short",
        [ask(f"sum({increase(events.MISSED, ONE, window='$__rate_interval')})", "missed")],
        size=(8, 7),
        runbook="BullMQEventsMissed",
    ),
    timeline(
        "Whether ages are exact",
        "Exact where an event was seen or the job never ran; else an upper bound from its hash. No bar: no job.",
        [ask(f"min by (state) ({select(age.EXACT, ONE)})", "{{state}}", only_if="a job waits")],
        {"0": ("bound", "orange"), "1": ("exact", "green")},
        size=(8, 7),
    ),
    lines(
        "Since the last of each",
        "Seconds since anything happened, and since the newest job that is kept completed or failed. Since the last "
        "completed climbs while jobs wait: nothing gets done.",
        "s",
        [
            ask(f"time() - max({select(throughput.LAST_EVENT, ONE)})", "anything", only_if="there is an event"),
            ask(f"time() - max({select(throughput.LAST_COMPLETED, ONE)})", "completed", only_if="one is kept"),
            ask(f"time() - max({select(throughput.LAST_FAILED, ONE)})", "failed", only_if="one is kept"),
        ],
    ),
    lines(
        "Jobs added, counted twice",
        "Attempts to add a job by Redis's own count, and by the events, duplicates included. Lines that part for "
        "long: events were missed, or jobs were added without any.",
        "ops",
        [
            ask(f"sum({rate(throughput.ADD_ATTEMPTS, ONE)})", "by Redis"),
            ask(f"sum({rate(throughput.ADDED, ONE)} + {rate(throughput.DEDUPLICATED, ONE)})", "by the events"),
        ],
    ),
]

dashboard = board(
    About(uid="qobserve-queue", title="BullMQ / Queue", purpose="One queue, from the age of its jobs to their names."),
    [
        ("Now", NOW),
        ("Depth and age", DEPTH),
        ("Wait and processing", DURATIONS),
        ("Throughput and failures", OUTCOMES),
        ("Job names", NAMES),
        ("Schedulers and delays", SCHEDULES),
        ("How far to trust this", TRUST),
    ],
    [*variables.of_target(), *variables.of_queues(ONE), variables.objective()],
    links=[
        away("This queue in Bull Board", to_bull_board("${queue:percentencode}"), "The jobs of this queue"),
    ],
)
