"""The exporter itself: what it costs, how far it lags, and what it does not know."""

from __future__ import annotations

from qobserve.metrics import events, exporter, info, throughput
from qobserve.panels import foreign, variables
from qobserve.panels.board import About, board
from qobserve.panels.charts import lines, number, timeline
from qobserve.panels.frame import NEUTRAL, NONE_IS_GOOD, OF_QUEUE, OF_REDIS, ONE_IS_GOOD, ask, ask_now
from qobserve.panels.links import FROM_ROW, FROM_SERIES
from qobserve.panels.measures import MOST_LINES
from qobserve.panels.promql import MANY, OF_JOB, RATE, at_end, increase, or_zero, rate, rate_at_end, select, top
from qobserve.panels.tables import OF_QUEUE as QUEUE_KEYS
from qobserve.panels.tables import Column, table

LATE = ((None, "green"), (5.0, "orange"), (30.0, "red"))

NOW = [
    number(
        "Exporters that answer",
        "Whether Prometheus could scrape the exporter. 0: nothing on these dashboards is current.",
        "none",
        ask_now(select(foreign.UP), OF_REDIS),
        limits=ONE_IS_GOOD,
        words={"0": ("down", "red"), "1": ("up", "green")},
        runbook="BullMQExporterDown",
    ),
    number(
        "Redis that answer",
        "Whether the exporter could read its Redis. 0: the exporter is fine, Redis or the way to it is not.",
        "none",
        ask_now(select(exporter.UP), OF_REDIS),
        limits=ONE_IS_GOOD,
        words={"0": ("down", "red"), "1": ("up", "green")},
        runbook="BullMQRedisUnreachable",
    ),
    number(
        "Queues watched",
        "Queues that discovery found and the settings include. A sudden fall: a prefix or a permission changed.",
        "none",
        ask_now(f"sum({select(exporter.QUEUES)})"),
    ),
    number(
        "Unreadable queues",
        "Queues of which a part could not be read: a key of the wrong type, or a command that is not allowed.",
        "none",
        ask_now(or_zero(f"count({select(info.READ_SUCCESS, MANY)} == 0)")),
        limits=NONE_IS_GOOD,
        runbook="BullMQQueueUnreadable",
    ),
    number(
        "Series left out",
        "Schedulers, job names and queues that got no series in this range, for want of room or a name of their own. "
        "Raise the limit that the panel below names.",
        "short",
        ask_now(f"sum({increase(exporter.SERIES_DROPPED)})"),
        limits=NONE_IS_GOOD,
    ),
    number(
        "Version",
        "The version of each exporter that runs. Two at once: a roll-out is under way, or one was forgotten.",
        "none",
        ask_now(select(exporter.BUILD_INFO, of=OF_JOB), "{{version}} on Python {{python_version}}"),
        limits=NEUTRAL,
        text="name",
    ),
]

COST = [
    lines(
        "Reading Redis",
        "How long a look at all queues took, and the whole scrape as Prometheus saw it. Near the scrape timeout "
        "numbers go missing.",
        "s",
        [
            ask(select(exporter.SCRAPE_DURATION), f"Redis {OF_REDIS}"),
            ask(select(foreign.SCRAPE_SECONDS), f"whole scrape {OF_REDIS}"),
        ],
    ),
    lines(
        "Samples of a scrape",
        "What a scrape costs Prometheus. It grows with the queues, schedulers and job names, never with the jobs.",
        "short",
        [ask(select(foreign.SCRAPE_SAMPLES), OF_REDIS)],
    ),
    lines(
        "Processor",
        "Cores that the exporter uses: 1 is one core. It follows events on one core, so near 1 it is at its limit.",
        "none",
        [ask(rate(foreign.CPU_SECONDS, of=OF_JOB), "{{instance}}")],
        size=(8, 7),
        limits=((None, "green"), (0.9, "red")),
    ),
    lines(
        "Memory",
        "Resident memory of the exporter. It levels off once all queues and open jobs are known; a steady climb is a "
        "defect.",
        "bytes",
        [ask(select(foreign.MEMORY_BYTES, of=OF_JOB), "{{instance}}")],
        size=(8, 7),
    ),
    lines(
        "Files and restarts",
        "Open file descriptors, and hours since the start. Back to 0: it restarted, and counters without a "
        "checkpoint began anew.",
        "short",
        [
            ask(select(foreign.OPEN_FILES, of=OF_JOB), "open files {{instance}}"),
            ask(f"(time() - {select(foreign.START_TIME, of=OF_JOB)}) / 3600", "hours up {{instance}}"),
        ],
        size=(8, 7),
    ),
    lines(
        "Search for queues",
        "How long the last complete search took, in the background. Longer than its interval: new queues show up late.",
        "s",
        [ask(select(exporter.DISCOVERY_DURATION), OF_REDIS)],
    ),
    lines(
        "Events a second",
        f"Entries that BullMQ wrote to the event streams, which the exporter has to keep up with. The {MOST_LINES} "
        "busiest queues.",
        "ops",
        [
            ask(
                top(MOST_LINES, rate(throughput.EVENTS, MANY), rate_at_end(throughput.EVENTS, MANY)),
                OF_QUEUE,
            )
        ],
        links=FROM_SERIES,
    ),
]

LAG_AND_GAPS = [
    lines(
        "Lag",
        "For how long a queue has had events that were not read yet. Above some seconds the exporter does not keep "
        f"up. The {MOST_LINES} worst queues.",
        "s",
        [ask(top(MOST_LINES, select(events.LAG, MANY), at_end(select(events.LAG, MANY))), OF_QUEUE)],
        limits=LATE,
        links=FROM_SERIES,
        runbook="BullMQEventsLagging",
    ),
    lines(
        "Events missed",
        "Events that BullMQ trimmed before they could be read, in each step. Raise maxLenEvents of these queues. The "
        f"{MOST_LINES} worst.",
        "short",
        [
            ask(
                top(MOST_LINES, increase(events.MISSED, MANY, window=RATE), rate_at_end(events.MISSED, MANY)),
                OF_QUEUE,
            )
        ],
        links=FROM_SERIES,
        runbook="BullMQEventsMissed",
    ),
    timeline(
        "Collectors",
        "Red while a collector lacked something that it needs of at least one queue: its numbers are incomplete then.",
        [ask(f"min by (collector) ({select(exporter.COLLECTOR_SUCCESS)})", "{{collector}}")],
        {"0": ("incomplete", "red"), "1": ("complete", "green")},
        size=(12, 10),
    ),
    table(
        "Counters that are too low",
        "Counters of queues that missed events which nothing else makes up for. Take their rates as a lower bound. "
        "Empty is good.",
        [
            Column(
                title="Too low",
                expr=f"topk(100, {select(events.PARTIAL, MANY)})",
                limits=NONE_IS_GOOD,
                words={"1": ("yes", "red")},
                only_if="events were missed for good",
            )
        ],
        keys={"counter": "Counter", **QUEUE_KEYS},
        size=(12, 10),
        links=FROM_ROW,
    ),
    lines(
        "Series left out, by reason",
        "schedulers: beyond --collector.schedulers.limit; job_name: beyond --metrics.job-names-limit; collision: "
        "queues whose names read the same.",
        "short",
        [ask(f"sum by (reason) ({increase(exporter.SERIES_DROPPED, window=RATE)})", "{{reason}}")],
    ),
    lines(
        "Events kept",
        "How full the event streams are, as a share of what BullMQ keeps. Streams that are full and busy are where "
        f"events get missed. The {MOST_LINES} longest.",
        "percentunit",
        [
            ask(
                top(
                    MOST_LINES,
                    f"{select(throughput.EVENTS_RETAINED, MANY)} / {select(throughput.EVENTS_LIMIT, MANY)}",
                    at_end(select(throughput.EVENTS_RETAINED, MANY)),
                ),
                OF_QUEUE,
            )
        ],
        links=FROM_SERIES,
    ),
]

dashboard = board(
    About(uid="qobserve-exporter", title="BullMQ / Exporter", purpose="What watching costs, and what it misses."),
    [("Now", NOW), ("Cost", COST), ("Lag and gaps", LAG_AND_GAPS)],
    [*variables.of_target(), *variables.of_queues(MANY)],
)
