"""A scrape as a whole: every collector on its own, switched on or off, and what is left out of it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from golden.page import EMPTY, FULL, NOW_MS, SNAPSHOT, UNREAD

from qobserve.metrics import COLLECTORS
from qobserve.metrics.collection import collect
from qobserve.metrics.collector import Collector
from qobserve.metrics.family import Family
from qobserve.model.keys import QueueId
from qobserve.model.snapshot import Problem, ServerSnapshot, Snapshot, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from qobserve.metrics.collection import Collected
    from qobserve.metrics.collector import Facts
    from qobserve.metrics.family import Samples

NAMES = [collector.name for collector in COLLECTORS]
FAMILY = Family("bullmq_broken", "gauge", "Never shown.")


def fail_half_way(_facts: Facts) -> Iterator[Samples]:
    yield FAMILY.samples([("", 1)])
    raise ZeroDivisionError("a defect of the collector")


BROKEN = Collector("broken", (FAMILY,), fail_half_way)


def scrape(snapshot: Snapshot, **options: object) -> Collected:
    given: dict[str, object] = {"enabled": {}, "slo": lambda _: None, "dropped_before": {}, **options}
    return collect(snapshot, **given)  # type: ignore[arg-type]  # by name, with defaults for most


def values(collected: Collected) -> dict[str, Mapping[str, float]]:
    return {samples.family.name: dict(samples.rows) for samples in collected.samples}


def success(collected: Collected) -> dict[str, float]:
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
    assert {name: rows for name, rows in values(broken).items() if name != "bullmq_collector_success"} == {
        name: rows for name, rows in whole.items() if name != "bullmq_collector_success"
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
    shown = {name for name, rows in values(down).items() if rows}

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
        collected = scrape(Snapshot(servers=servers))

        assert values(collected)["bullmq_queue_add_attempts_total"] == {r'prefix="bull",queue="\\xff"': 1}
        assert collected.dropped == {"schedulers": 0, "collision": 1}


def test_what_was_left_out_adds_up_over_scrapes() -> None:
    first = scrape(SNAPSHOT)
    second = scrape(SNAPSHOT, dropped_before=first.dropped)
    dropped = [values(collected)["bullmq_series_dropped_total"] for collected in (first, second)]

    # At 0 from the start: a counter that begins at its first increase hides it from rate().
    assert dropped == [
        {'reason="schedulers"': 1, 'reason="collision"': 0},
        {'reason="schedulers"': 2, 'reason="collision"': 0},
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
