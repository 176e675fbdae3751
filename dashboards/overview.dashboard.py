"""All queues: what is wrong now, then age, backlog, throughput, workers, and whether Redis keeps the jobs."""

from __future__ import annotations

from qobserve.metrics import exporter, info, limits, redis_safety, throughput, workers
from qobserve.metrics.depth import JOBS
from qobserve.model.blocked import Reason
from qobserve.panels import variables
from qobserve.panels.board import About, board
from qobserve.panels.charts import bars, lines, number, timeline
from qobserve.panels.frame import NONE_IS_GOOD, OF_OBJECTIVE, OF_QUEUE, OF_REDIS, ONE_IS_GOOD, ask, ask_now
from qobserve.panels.links import FROM_ROW, FROM_SERIES
from qobserve.panels.measures import (
    MOST_LINES,
    OPEN_STATES,
    backlog,
    blocked,
    busiest,
    largest_backlogs,
    most_failing,
    objective,
    oldest,
    oldest_of_worst,
    share_of_objective,
)
from qobserve.panels.promql import MANY, at_end, increase, or_zero, rate, select, top, whole
from qobserve.panels.tables import OF_QUEUE as QUEUE_KEYS
from qobserve.panels.tables import Column, table

MOST_ROWS = 100
IN_TROUBLE = "a queue is in trouble"
WRONG: dict[str, tuple[str, str]] = {"0": ("no", "green"), "1": ("yes", "red")}
RIGHT: dict[str, tuple[str, str]] = {"0": ("no", "red"), "1": ("yes", "green")}
TROUBLE = f"({share_of_objective(MANY)} > 1 or {blocked(MANY)} == 1 or {select(info.READ_SUCCESS, MANY)} == 0)"
"""A queue whose oldest job is older than it should be, that something keeps from working, or that cannot be read."""


def of_troubled(expr: str) -> str:
    """The value of the queues in trouble, of so many at most."""
    return f"({expr}) and topk({MOST_ROWS}, {TROUBLE})"


def of_largest(expr: str) -> str:
    """The value of the queues with the largest backlog."""
    return f"({expr}) and topk({MOST_ROWS}, {backlog(MANY)})"


def of_reason(reason: Reason) -> str:
    """1 for the queues that this reason keeps from working."""
    return whole("max", "reason", f"{select(limits.BLOCKED, MANY, reason=reason)} == 1")


WRONG_NOW = [
    number(
        "Past their objective",
        "Queues whose oldest waiting job is older than it should be. Anything but 0 means that users wait too long "
        "now.",
        "none",
        ask_now(or_zero(f"count({share_of_objective(MANY)} > 1)")),
        limits=NONE_IS_GOOD,
        runbook="BullMQJobWaitTooLong",
    ),
    number(
        "Blocked",
        "Queues with work that something keeps from being done. The table below says what.",
        "none",
        ask_now(or_zero(f"count({blocked(MANY)} == 1)")),
        limits=NONE_IS_GOOD,
        runbook="BullMQQueueStuck",
    ),
    number(
        "Without workers",
        "Queues with ready jobs that no worker is connected for. Start workers, or look why they cannot reach Redis.",
        "none",
        ask_now(or_zero(f"count({of_reason(Reason.NO_WORKERS)})")),
        limits=NONE_IS_GOOD,
        runbook="BullMQNoWorkers",
    ),
    number(
        "Paused",
        "Queues that somebody paused. Fine during maintenance; forgotten, it is an outage that nothing else reports.",
        "none",
        ask_now(or_zero(f"count({select(limits.PAUSED, MANY)} == 1)")),
        limits=((None, "green"), (1, "orange")),
        runbook="BullMQQueuePaused",
    ),
    number(
        "Unreadable",
        "Queues of which a part could not be read. Their other numbers may be missing; the exporter's log names the "
        "key.",
        "none",
        ask_now(or_zero(f"count({select(info.READ_SUCCESS, MANY)} == 0)")),
        limits=NONE_IS_GOOD,
        runbook="BullMQQueueUnreadable",
    ),
    number(
        "Redis unreachable",
        "Redis servers that did not answer the last scrape. Nothing on this page is current for their queues.",
        "none",
        ask_now(or_zero(f"count({select(exporter.UP)} == 0)")),
        limits=NONE_IS_GOOD,
        runbook="BullMQRedisUnreachable",
    ),
    table(
        "Queues in trouble",
        "One row for each queue that breaks its objective, is blocked or cannot be read; the worst first. A click on "
        "the queue opens it. Empty is good.",
        [
            Column(
                title="Of objective",
                expr=of_troubled(share_of_objective(MANY)),
                unit="percentunit",
                limits=OF_OBJECTIVE,
                only_if=IN_TROUBLE,
            ),
            Column(title="Oldest job", expr=of_troubled(oldest(MANY)), unit="s", only_if=IN_TROUBLE),
            Column(title="Objective", expr=of_troubled(objective(MANY)), unit="s", only_if=IN_TROUBLE),
            Column(title="Backlog", expr=of_troubled(backlog(MANY)), unit="short", only_if=IN_TROUBLE),
            *(
                Column(
                    title=reason.replace("_", " ").capitalize(),
                    expr=of_troubled(of_reason(reason)),
                    limits=NONE_IS_GOOD,
                    words=WRONG,
                    only_if=IN_TROUBLE,
                )
                for reason in Reason
            ),
            Column(
                title="All read",
                expr=of_troubled(select(info.READ_SUCCESS, MANY)),
                limits=ONE_IS_GOOD,
                words=RIGHT,
                only_if=IN_TROUBLE,
            ),
        ],
        keys=QUEUE_KEYS,
        links=FROM_ROW,
    ),
]

AGE = [
    bars(
        "Oldest job against its objective",
        f"How much of its objective the oldest waiting job has used up, for the {MOST_LINES} worst queues. From 100% "
        "on the objective is broken.",
        "percentunit",
        ask_now(f"topk({MOST_LINES}, {share_of_objective(MANY)})", OF_QUEUE),
        limits=OF_OBJECTIVE,
        links=FROM_SERIES,
        runbook="BullMQJobWaitTooLong",
    ),
    lines(
        "Oldest waiting job",
        "A line that climbs as fast as the clock is a queue in which nothing is taken; one that stays level is only "
        f"busy. The {MOST_LINES} queues with the oldest jobs of this time range.",
        "s",
        [ask(oldest_of_worst(MANY), OF_QUEUE)],
        links=FROM_SERIES,
        runbook="BullMQJobWaitTooLong",
    ),
    timeline(
        "What kept work from being done",
        "A bar for each queue and reason that held at any time of this range, red while it did. Empty is good.",
        [
            ask(
                top(2 * MOST_LINES, select(limits.BLOCKED, MANY), f"{at_end(select(limits.BLOCKED, MANY))} > 0"),
                "{{prefix}}:{{queue}} {{reason}} {{bullmq_target}}",
                only_if=IN_TROUBLE,
            )
        ],
        WRONG,
        size=(24, 8),
    ),
]

FLOW = [
    lines(
        "Backlog",
        f"Jobs that wait for a worker. A backlog alone is no trouble as long as its jobs stay young. The {MOST_LINES} "
        "largest of this time range.",
        "short",
        [ask(largest_backlogs(MANY), OF_QUEUE)],
        links=FROM_SERIES,
        runbook="BullMQBacklogLong",
    ),
    lines(
        "Jobs by state, all queues",
        "Where all unfinished jobs are. Waiting that grows while active stays level: too few workers. Delayed that "
        "grows: back-offs or schedules.",
        "short",
        [ask(f"sum by (state) ({select(JOBS, MANY, state=OPEN_STATES)})", "{{state}}")],
        stacked=True,
    ),
    lines(
        "Throughput, all queues",
        "Jobs a second. Added above completed means that a backlog builds up; failed are those without attempts left.",
        "ops",
        [
            ask(f"sum({rate(throughput.ADDED, MANY)})", "added"),
            ask(f"sum({rate(throughput.COMPLETED, MANY)})", "completed"),
            ask(f"sum({rate(throughput.FAILED, MANY)})", "failed"),
            ask(f"sum({rate(throughput.RETRIED, MANY)})", "retried"),
        ],
    ),
    lines(
        "Completed, by queue",
        f"Jobs a second, for the {MOST_LINES} queues that completed most in this time range. A line that falls to 0 "
        "while its backlog stays is a queue that hangs.",
        "ops",
        [ask(busiest(MANY), OF_QUEUE)],
        links=FROM_SERIES,
    ),
    lines(
        "Failure ratio",
        f"Share of the jobs that ended by failing for good, for the {MOST_LINES} queues where most failed. Queues in "
        "which nothing ends have no line.",
        "percentunit",
        [ask(most_failing(MANY), OF_QUEUE)],
        limits=((None, "green"), (0.05, "red")),
        links=FROM_SERIES,
        most=1,
        runbook="BullMQFailureRatioHigh",
    ),
    lines(
        "Workers and running jobs",
        "Connected workers and active jobs of all queues. Workers that drop together point at a deployment or at "
        "Redis.",
        "short",
        [
            ask(f"sum({select(workers.WORKERS, MANY)})", "workers"),
            ask(f"sum({select(JOBS, MANY, state='active')})", "active jobs"),
        ],
    ),
    table(
        "Largest queues",
        f"The {MOST_ROWS} queues with the largest backlog, as they are now. A click on the queue opens it.",
        [
            Column(title="Backlog", expr=f"topk({MOST_ROWS}, {backlog(MANY)})", unit="short"),
            Column(title="Oldest job", expr=of_largest(oldest(MANY)), unit="s"),
            Column(
                title="Of objective", expr=of_largest(share_of_objective(MANY)), unit="percentunit", limits=OF_OBJECTIVE
            ),
            Column(title="Workers", expr=of_largest(select(workers.WORKERS, MANY))),
            Column(title="Completed/s", expr=of_largest(rate(throughput.COMPLETED, MANY)), unit="ops"),
            Column(title="Failed/s", expr=of_largest(rate(throughput.FAILED, MANY)), unit="ops"),
        ],
        keys=QUEUE_KEYS,
        links=FROM_ROW,
    ),
]

REDIS = [
    number(
        "Eviction policy",
        "BullMQ needs maxmemory-policy noeviction. With any other, Redis deletes keys of jobs when memory runs out.",
        "none",
        ask_now(select(redis_safety.EVICTION_SAFE), OF_REDIS),
        size=(6, 4),
        limits=ONE_IS_GOOD,
        words={"0": ("can lose jobs", "red"), "1": ("noeviction", "green")},
        runbook="BullMQRedisMayEvict",
    ),
    number(
        "Append-only file",
        "Whether Redis writes each change to disk. Without it a restart loses what came in since the last snapshot.",
        "none",
        ask_now(select(redis_safety.AOF_ENABLED), OF_REDIS),
        size=(6, 4),
        limits=((None, "orange"), (1, "green")),
        words={"0": ("off", "orange"), "1": ("on", "green")},
        runbook="BullMQRedisAofOff",
    ),
    number(
        "Keys evicted",
        "Keys that Redis dropped for want of memory in this time range. Any may have been a job: look for lost ones.",
        "none",
        ask_now(f"sum({increase(redis_safety.EVICTED_KEYS)})"),
        size=(6, 4),
        limits=NONE_IS_GOOD,
        runbook="BullMQRedisEvictsKeys",
    ),
    number(
        "Redis that answer",
        "1 for each Redis that answered the last scrape of the exporter, 0 for one that did not.",
        "none",
        ask_now(select(exporter.UP), OF_REDIS),
        size=(6, 4),
        limits=ONE_IS_GOOD,
        words={"0": ("down", "red"), "1": ("up", "green")},
        runbook="BullMQRedisUnreachable",
    ),
    lines(
        "Memory",
        "Used share of maxmemory. At 100% Redis refuses new jobs, or evicts keys if its policy lets it. No line: no "
        "limit is set, and the machine's memory is the limit.",
        "percentunit",
        [ask(select(redis_safety.MEMORY_RATIO), OF_REDIS, only_if="maxmemory is set")],
        limits=((None, "green"), (0.8, "orange"), (0.95, "red")),
        most=1,
        runbook="BullMQRedisMemoryHigh",
    ),
    table(
        "Servers",
        "What the queues are kept in. A role of replica means that the exporter reads a copy, which may lag.",
        [Column(title="Seen", expr=select(redis_safety.INFO), words={"1": ("yes", "green")})],
        keys={
            "instance": "Exporter",
            "bullmq_target": "Redis",
            "mode": "Mode",
            "role": "Role",
            "version": "Version",
            "server": "Server",
        },
        size=(12, 8),
    ),
]

dashboard = board(
    About(uid="qobserve-overview", title="BullMQ / Overview", purpose="All queues: what is wrong now, and why."),
    [
        ("What is wrong now", WRONG_NOW),
        ("Age", AGE),
        ("Backlog, throughput and workers", FLOW),
        ("Redis", REDIS),
    ],
    [*variables.of_target(), *variables.of_queues(MANY), variables.objective()],
)
