"""A scrape as a whole: every collector on its own, switched on or off, and what is left out of it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from golden.page import EMPTY, FULL, NOW_MS, SNAPSHOT, UNREAD
from golden.printed import rows

from qobserve.config import MetricsSettings
from qobserve.metrics import COLLECTORS
from qobserve.metrics.collection import Collection
from qobserve.metrics.collector import Collector, OfQueue
from qobserve.metrics.family import Family
from qobserve.metrics.tally import Tally
from qobserve.model.keys import QueueId
from qobserve.model.snapshot import Problem, ServerSnapshot, Snapshot, Trouble
from qobserve.model.states import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.metrics.collector import Seen
    from qobserve.metrics.family import Row, Samples

NAMES = [collector.name for collector in COLLECTORS]
NONE_DROPPED = {f'reason="{reason}"': 0 for reason in ("schedulers", "collision", "job_name")}
FAMILY = Family("bullmq_broken", "gauge", "Never shown.")


def fail_half_way(_queue: str, _seen: Seen) -> Iterator[Row]:
    yield "", 1
    raise ZeroDivisionError("a defect of the collector")


GOOD = OfQueue(Family("bullmq_good", "gauge", "Never shown: another part fails."), lambda queue, _: [(queue, 1)])
BROKEN = Collector("broken", (GOOD, OfQueue(FAMILY, fail_half_way)))


def collection(**options: object) -> Collection:
    given: dict[str, object] = {"enabled": {}, "slo": lambda _: None, "tally": Tally(MetricsSettings()), **options}
    return Collection(**given)  # type: ignore[arg-type]  # by name, with defaults for most


def scrape(snapshot: Snapshot, **options: object) -> list[Samples]:
    return collection(**options).collect(snapshot)


def values(collected: list[Samples]) -> dict[str, dict[str, float]]:
    return {samples.family.name: dict(rows(samples)) for samples in collected}


def success(collected: list[Samples]) -> dict[str, float]:
    return {labels.split('"')[1]: value for labels, value in values(collected)["bullmq_collector_success"].items()}


def healthy() -> Snapshot:
    return Snapshot(servers=(ServerSnapshot(now_ms=NOW_MS, queues=(FULL, EMPTY)),))


def test_all_collectors_run_and_succeed() -> None:
    assert success(scrape(healthy())) == dict.fromkeys(NAMES, 1)


def test_a_collector_that_fails_takes_none_along_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        broken = scrape(healthy(), collectors=(COLLECTORS[0], BROKEN, *COLLECTORS[1:]))
    whole = values(scrape(healthy()))

    assert success(broken) == dict.fromkeys(NAMES, 1) | {"broken": 0}
    assert {name: told for name, told in values(broken).items() if name != "bullmq_collector_success"} == {
        name: told for name, told in whole.items() if name != "bullmq_collector_success"
    }
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage(), vars(record)["collector"]) == (
        "qobserve.metrics",
        "ERROR",
        "a collector failed",
        "broken",
    )
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize("name", NAMES)
def test_a_collector_that_is_off_says_nothing_at_all(name: str) -> None:
    off = scrape(healthy(), enabled={name: False})
    its_own = next(collector.families for collector in COLLECTORS if collector.name == name)

    assert success(off) == {other: 1 for other in NAMES if other != name}
    assert values(off).keys() == values(scrape(healthy())).keys() - {family.name for family in its_own}


@pytest.mark.parametrize("part", NAMES)
def test_a_part_that_could_not_be_read_is_no_success_and_hides_nothing(part: str) -> None:
    of_queue = replace(EMPTY, problems=(Problem(part=part, queue=EMPTY.queue, what="WRONGTYPE"),))
    of_server = ServerSnapshot(now_ms=NOW_MS, queues=(FULL,), problems=(Problem(part=part, queue=None, what="NOPERM"),))

    for snapshot in (
        Snapshot(servers=(ServerSnapshot(now_ms=NOW_MS, queues=(FULL, of_queue)),)),
        Snapshot(servers=(of_server,)),
    ):
        assert success(scrape(snapshot)) == dict.fromkeys(NAMES, 1) | {part: 0}
        assert len(values(scrape(snapshot))["bullmq_queue_jobs"]) >= 8


def test_while_redis_is_down_nothing_succeeds() -> None:
    down = scrape(Snapshot(trouble=Trouble(reason="timeout", message="no answer")))
    shown = {name for name, told in values(down).items() if told}

    assert success(down) == dict.fromkeys(NAMES, 0)
    assert shown == {
        "bullmq_up",
        "bullmq_scrape_duration_seconds",
        "bullmq_collector_success",
        "bullmq_series_dropped_total",
    }


def test_of_two_queues_whose_names_read_the_same_the_first_stays() -> None:
    raw, spelled = QueueId(b"bull", b"\xff"), QueueId(b"bull", rb"\xff")
    twins = (replace(EMPTY, queue=raw, add_attempts=1), replace(EMPTY, queue=spelled, add_attempts=2))

    for servers in (
        (ServerSnapshot(now_ms=NOW_MS, queues=twins),),
        tuple(ServerSnapshot(now_ms=NOW_MS, queues=(twin,)) for twin in twins),
    ):
        collected = values(scrape(Snapshot(servers=servers)))

        assert collected["bullmq_queue_add_attempts_total"] == {r'prefix="bull",queue="\\xff"': 1}
        assert collected["bullmq_series_dropped_total"] == {**NONE_DROPPED, 'reason="collision"': 1}


def test_what_was_left_out_adds_up_over_scrapes() -> None:
    lasting = collection()
    dropped = [values(lasting.collect(SNAPSHOT))["bullmq_series_dropped_total"] for _ in range(2)]

    # At 0 from the start: a counter that begins at its first increase hides it from rate().
    assert dropped == [
        {**NONE_DROPPED, 'reason="schedulers"': 1},
        {**NONE_DROPPED, 'reason="schedulers"': 2},
    ]


def test_each_queue_is_as_old_as_its_own_server_says() -> None:
    queue = replace(UNREAD, active_since_ms=NOW_MS - 1000)
    other = replace(queue, queue=QueueId(b"bull", b"other"))
    servers = (
        ServerSnapshot(now_ms=NOW_MS, queues=(queue,)),
        ServerSnapshot(now_ms=NOW_MS + 5000, queues=(other,)),
    )

    assert values(scrape(Snapshot(servers=servers)))["bullmq_queue_oldest_job_age_seconds"] == {
        'prefix="bull",queue="unread",state="active"': 1.0,
        'prefix="bull",queue="other",state="active"': 6.0,
    }


def test_what_is_kept_from_the_scrape_before_is_what_would_be_printed_now() -> None:
    alone = {"tally": None, "enabled": {"drain": False}}
    lasting = collection(**alone)
    busier = replace(EMPTY, add_attempts=1, jobs={**EMPTY.jobs, State.ACTIVE: 77})
    for now_ms, queues in (  # without drain, which is to know what was before
        (NOW_MS, (FULL, EMPTY)),
        (NOW_MS + 7_000, (FULL, EMPTY)),  # nothing but the clock
        (NOW_MS + 90_000, (EMPTY, FULL)),
        (NOW_MS + 91_000, (FULL, busier)),
        (NOW_MS + 92_000, (busier,)),
        (NOW_MS + 93_000, (FULL, busier, UNREAD)),
    ):
        snapshot = Snapshot(servers=(ServerSnapshot(now_ms=now_ms, queues=queues),))
        kept, anew = values(lasting.collect(snapshot)), values(scrape(snapshot, **alone))
        for told in (kept, anew):
            del told["bullmq_series_dropped_total"]  # it adds up over scrapes

        assert kept == anew
