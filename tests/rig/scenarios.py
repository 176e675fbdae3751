"""What a queue can go through, driven with the real library; each scenario leaves its queues at rest, to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rig.child import wait_until
from rig.stage import Scene

if TYPE_CHECKING:
    from collections.abc import Callable

    from rig.drivers import Json
    from rig.stage import Stage

HOUR = 3_600_000
PREFIXES = ("bull", "{bull}", "a:b")
NAMES = ("adds", "ü x", "日本")
FAST_STALL: dict[str, Json] = {"lockDuration": 1000, "stalledInterval": 500}


def adds(stage: Stage) -> list[Scene]:
    """Jobs of all kinds, under several prefixes and names."""
    scenes = []
    for prefix in PREFIXES:
        for queue in NAMES:
            stage.add(queue, prefix=prefix)
            stage.add(queue, prefix=prefix, lifo=True)
            stage.add(queue, prefix=prefix, delay=HOUR)
            stage.add(queue, prefix=prefix, delay=HOUR, priority=2)
            stage.add(queue, prefix=prefix, jobId="mine")
            stage.add(queue, prefix=prefix, jobId="mine")
            for priority in (3, 1, 3):
                stage.add(queue, prefix=prefix, priority=priority)
            bulk: list[Json] = [{"name": "b", "data": {}, "opts": {"delay": delay}} for delay in (0, HOUR)]
            stage.driver.call("addBulk", queue=queue, prefix=prefix, jobs=bulk)
            gone = stage.add(queue, prefix=prefix)
            stage.driver.call("remove", queue=queue, prefix=prefix, jobId=gone)
            scenes.append(Scene(prefix=prefix, queue=queue))
    return scenes


def flows(stage: Stage) -> list[Scene]:
    """A parent that waits for a grandchild's parent, and one whose children are done."""
    leaf: Json = {"name": "leaf", "queueName": "flow-leaves", "data": {}}
    middle: Json = {"name": "middle", "queueName": "flow-parents", "data": {}, "children": [leaf, leaf]}
    for prefix in ("bull", "a:b"):
        flow: Json = {"name": "root", "queueName": "flow-parents", "data": {}, "children": [middle, leaf]}
        stage.driver.call("addFlow", prefix=prefix, flow=flow)
    child: Json = {"name": "child", "queueName": "flow-done", "data": {}}
    parent: Json = {"name": "parent", "queueName": "flow-released", "data": {}, "children": [child]}
    stage.driver.call("addFlow", flow=parent)
    stage.driver.call("work", queue="flow-done", worker="flow-done")
    stage.settle("flow-done", completed=1)
    stage.settle("flow-released", waiting=1)
    return [
        *(Scene(prefix=prefix, queue=queue) for prefix in ("bull", "a:b") for queue in ("flow-parents", "flow-leaves")),
        Scene(queue="flow-done", workers=1),
        Scene(queue="flow-released", exact_age=False),
    ]


def schedulers(stage: Stage) -> list[Scene]:
    """Two schedulers that stay and one that is removed."""
    queue = "scheduled"
    repeats: dict[str, Json] = {
        "hourly": {"every": HOUR},
        "yearly": {"pattern": "0 0 1 1 *"},
        "gone": {"every": 2 * HOUR},
    }
    for name, repeat in repeats.items():
        stage.driver.call("upsertScheduler", queue=queue, scheduler=name, repeat=repeat)
    stage.driver.call("removeScheduler", queue=queue, scheduler="gone")
    return [Scene(queue=queue)]


def deduplicated(stage: Stage) -> list[Scene]:
    """Adds that are the same job to BullMQ (from 5 on)."""
    for _ in range(3):
        stage.add("dedup", deduplication={"id": "same"})
    stage.add("dedup", deduplication={"id": "other", "ttl": HOUR})
    return [Scene(queue="dedup")]


def paused(stage: Stage) -> list[Scene]:
    """A paused queue with jobs from before and after, and one that was resumed."""
    for queue in ("paused", "resumed", "paused-empty"):
        if queue != "paused-empty":
            stage.add(queue)
            stage.add(queue, priority=1)
        stage.driver.call("pause", queue=queue)
    for queue in ("paused", "resumed"):
        stage.add(queue)
        stage.add(queue, lifo=True)
        stage.add(queue, delay=HOUR)
    stage.driver.call("resume", queue="resumed")
    return [Scene(queue="paused"), Scene(queue="resumed"), Scene(queue="paused-empty")]


def worked(stage: Stage) -> list[Scene]:
    """A worker with metrics: jobs that end well, fail, come back, hang, put themselves off or vanish when they end."""
    queue, driver = "worked", stage.driver
    script: Json = {
        "bad": {"fail": True},
        "late": {"fail": 2},
        "hang": {"hang": True},
        "later": {"delay": HOUR},
        "fatal": {"unrecoverable": True},
    }
    options: Json = {"metrics": {"maxDataPoints": 60}, "name": "w1"}
    driver.call("work", queue=queue, worker="worked", script=script, concurrency=5, options=options)
    for _ in range(3):
        stage.add(queue)
    stage.add(queue, name="late", attempts=3)
    stage.add(queue, name="late", attempts=3, backoff={"type": "fixed", "delay": 20})
    stage.add(queue, name="bad")
    stage.add(queue, name="bad", attempts=2)
    stage.add(queue, name="bad", attempts=5, backoff={"type": "exponential", "delay": HOUR})
    stage.add(queue, name="fatal", attempts=5)
    stage.add(queue, name="hang")
    stage.add(queue, name="later")
    stage.add(queue, removeOnComplete=True)
    stage.add(queue, name="bad", removeOnFail=True)
    stage.settle(queue, completed=5, failed=3, delayed=2, active=1, waiting=0)
    return [Scene(queue=queue, workers=1, exact_age=False)]


def retried(stage: Stage) -> list[Scene]:
    """Jobs retried, promoted and given another priority by hand."""
    queue, driver = "by-hand", stage.driver
    bad = [stage.add(queue, name="bad") for _ in range(3)]
    driver.call("work", queue=queue, worker="by-hand", script={"bad": {"fail": True}})
    stage.settle(queue, failed=3)
    driver.call("stopWorker", worker="by-hand")
    driver.call("retry", queue=queue, jobId=bad[0])
    early = [stage.add(queue, delay=HOUR) for _ in range(2)]
    driver.call("promote", queue=queue, jobId=early[0])
    driver.call("changePriority", queue=queue, jobId=stage.add(queue), priority=4)
    return [Scene(queue=queue, exact_age=False)]


def emptied(stage: Stage) -> list[Scene]:
    """Queues that were cleaned, drained and obliterated."""
    driver = stage.driver
    for queue in ("cleaned", "drained", "obliterated"):
        stage.add(queue, removeOnComplete=1)
        stage.add(queue, removeOnComplete={"count": 1})
        driver.call("work", queue=queue, worker=queue)
        stage.settle(queue, completed=1)
        driver.call("stopWorker", worker=queue)
        stage.add(queue)
        stage.add(queue, delay=HOUR)
    driver.call("clean", queue="cleaned", state="completed")
    driver.call("drain", queue="drained", delayed=True)
    driver.call("obliterate", queue="obliterated", force=True)
    return [Scene(queue="cleaned"), Scene(queue="drained")]


def stalled(stage: Stage) -> list[Scene]:
    """Workers that crash: one whose job is taken over, one whose job fails for it, one whose job nobody misses."""
    hang: Json = {"*": {"hang": True}}
    strict: dict[str, Json] = {**FAST_STALL, "maxStalledCount": 0}
    plays = {"stalled": FAST_STALL, "stalled-out": strict, "orphaned": FAST_STALL}
    for queue, options in plays.items():
        stage.add(queue)
        stage.victim.call("work", queue=queue, worker=queue, script=hang, options=options)
    for queue in plays:
        stage.settle(queue, active=1)
    stage.victim.kill()
    for queue in ("stalled", "stalled-out"):
        stage.driver.call("work", queue=queue, worker=queue, script=hang, options=plays[queue])
    stage.settle("stalled-out", failed=1)
    counts = ("stc", "stalledCounter")
    wait_until(lambda: any(stage.client.hmget("bull:stalled:1", counts)), "the job to be found stalled")
    stage.settle("stalled", active=1)
    return [
        Scene(queue="stalled", workers=1, exact_age=False),
        Scene(queue="stalled-out", workers=1, exact_age=False),
        Scene(queue="orphaned"),
    ]


def limited(stage: Stage) -> list[Scene]:
    """Global limits, where the version has them."""
    queue = "limited"
    stage.add(queue)
    limit = 3 if stage.supported("setGlobalConcurrency", queue=queue, concurrency=3) else None
    limited_rate = stage.supported("rateLimit", queue=queue, ms=HOUR)
    return [Scene(queue=queue, limit=limit, rate_limited=limited_rate)]


def manned(stage: Stage) -> list[Scene]:
    """Queues with one, two and three workers, idle and busy, named and not."""
    scenes, driver = [], stage.driver
    names = ("one", "two", "three") if driver.version.language == "python" else ("one", "zwei ü", "三")
    for count, queue in enumerate(names, start=1):
        for number in range(count):
            options: Json = {"name": f"w{number}"} if number else {}
            driver.call("work", queue=queue, worker=f"{queue} {number}", script={"*": {"hang": True}}, options=options)
        # A queue with workers alone has no key to find it by before BullMQ 5, nor (for 30 s) with the Python port.
        stage.add(queue, delay=HOUR)
        scenes.append(Scene(queue=queue, workers=count))
    for _ in range(3):
        stage.add("one")
    stage.settle("one", active=1)
    driver.call("work", queue="wide", worker="wide", script={"*": {"hang": True}}, concurrency=5)
    for _ in range(7):
        stage.add("wide")
    stage.settle("wide", active=5)
    return [*scenes, Scene(queue="wide", workers=1)]


SCENARIOS: tuple[Callable[[Stage], list[Scene]], ...] = (
    adds, flows, schedulers, deduplicated, paused, worked, retried, emptied, limited, manned, stalled,
)  # fmt: skip
