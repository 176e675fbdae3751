"""Faults on purpose: what depth, age and throughput did while one held, and whether all came back."""

from __future__ import annotations

from qobserve.metrics import age, depth, events, exporter, throughput, workers
from qobserve.panels import variables
from qobserve.panels.annotations import NOTED_FAULTS, scrapes_without_redis
from qobserve.panels.board import About, board
from qobserve.panels.charts import lines, number, timeline
from qobserve.panels.frame import NEUTRAL, NONE_IS_GOOD, OF_QUEUE, OF_REDIS, ask, ask_now
from qobserve.panels.links import FROM_SERIES
from qobserve.panels.measures import MOST_LINES, OPEN_STATES, oldest_of_worst
from qobserve.panels.promql import MANY, increase, rate, select

RANGE_TOTALS = (
    (throughput.ADDED, "Added", "Jobs added in the time range: what the other numbers have to add up to.", NEUTRAL),
    (throughput.COMPLETED, "Completed", "Jobs completed in the time range.", NEUTRAL),
    (throughput.FAILED, "Failed", "Jobs that failed for good in the time range.", NONE_IS_GOOD),
    (throughput.RETRIED, "Retried", "Attempts that failed and were made again: faults that retries absorbed.", NEUTRAL),
    (
        throughput.STALLED,
        "Stalled",
        "Jobs taken from a worker that lost them: each may have run twice, so its side effect has to be idempotent.",
        NONE_IS_GOOD,
    ),
)

OUTCOME = [
    *(
        number(title, text, "short", ask_now(f"sum({increase(family, MANY)})"), limits=limits)
        for family, title, text, limits in RANGE_TOTALS
    ),
    number(
        "Still open",
        "Jobs that are neither completed nor failed now. After a fault has healed it should fall to where it was "
        "before.",
        "short",
        ask_now(f"sum({select(depth.JOBS, MANY, state=OPEN_STATES)})"),
    ),
]

COURSE = [
    lines(
        "Jobs by state",
        "Waiting climbs while a fault holds and must fall again when it ends; active that stays up afterwards are "
        "jobs that nobody holds.",
        "short",
        [ask(f"sum by (state) ({select(depth.JOBS, MANY, state=OPEN_STATES)})", "{{state}}")],
        size=(24, 8),
    ),
    lines(
        "Oldest waiting job",
        "It climbs as fast as the clock while nothing is taken. The time from the end of a fault until it is low "
        f"again is the recovery. The {MOST_LINES} worst queues.",
        "s",
        [ask(oldest_of_worst(MANY), OF_QUEUE)],
        size=(24, 8),
        links=FROM_SERIES,
    ),
    lines(
        "Throughput",
        "Completed falls when a fault begins; above added after its end, the backlog is being worked off.",
        "ops",
        [
            ask(f"sum({rate(throughput.ADDED, MANY)})", "added"),
            ask(f"sum({rate(throughput.COMPLETED, MANY)})", "completed"),
            ask(f"sum({rate(throughput.FAILED, MANY)})", "failed"),
        ],
        size=(24, 8),
    ),
    lines(
        "Retries and stalls",
        "Attempts to be made again and jobs taken from lost workers, a second. Stalls follow the death of a worker "
        "by its lock's duration, 30 s unless set.",
        "ops",
        [
            ask(f"sum({rate(throughput.RETRIED, MANY)})", "retried"),
            ask(f"sum({rate(throughput.STALLED, MANY)})", "stalled"),
        ],
    ),
    lines(
        "Workers and running jobs",
        "Workers that are gone show at once; jobs that were theirs stay active until they are stalled.",
        "short",
        [
            ask(f"sum({select(workers.WORKERS, MANY)})", "workers"),
            ask(f"sum({select(depth.JOBS, MANY, state='active')})", "active jobs"),
        ],
    ),
]

WITNESS = [
    timeline(
        "Redis answers",
        "Red while the exporter could not read Redis. What the other panels show then is the last that was known, or "
        "nothing.",
        [ask(select(exporter.UP), OF_REDIS)],
        {"0": ("down", "red"), "1": ("up", "green")},
        size=(8, 7),
    ),
    lines(
        "Events missed and unread",
        "Whether the witness kept up: missed events make the totals above too low, a lag makes them late.",
        "short",
        [
            ask(f"sum({increase(events.MISSED, MANY, window='$__rate_interval')})", "missed"),
            ask(f"max({select(events.LAG, MANY)})", "lag in s"),
        ],
        size=(8, 7),
    ),
    lines(
        "Oldest running job",
        "A job that was running when its worker died stays active until it is stalled; a line that goes on climbing "
        "is one that nobody will ever take back.",
        "s",
        [ask(f"max({select(age.OLDEST, MANY, state='active')})", "oldest active")],
        size=(8, 7),
    ),
]

dashboard = board(
    About(
        uid="qobserve-chaos",
        title="BullMQ / Chaos",
        purpose="What queues did while faults held. Faults are annotations with the tag qobserve-chaos.",
        span="now-15m",
    ),
    [("What came of it", OUTCOME), ("The course", COURSE), ("The witness", WITNESS)],
    [*variables.of_target(), *variables.of_queues(MANY)],
    annotations=[NOTED_FAULTS, scrapes_without_redis()],
)
