"""Queues that a template merges, in every family that a queue has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from golden.page import EMPTY, FULL, NOW_MS, UNREAD
from golden.printed import rows

from qobserve.config import Slo
from qobserve.metrics.collection import Collection
from qobserve.model.keys import QueueId
from qobserve.model.snapshot import Scheduler, ServerSnapshot, Snapshot, Trouble
from qobserve.model.states import State

if TYPE_CHECKING:
    from qobserve.metrics.family import Samples
    from qobserve.model.snapshot import QueueSnapshot

ONE, TWO, THREE, OTHER = (QueueId(b"bull", name) for name in (b"t-1-m", b"t-2-m", b"t-3-m", b"other"))
MERGED = 'prefix="bull",queue="t-*-m"'
FIRST = replace(FULL, queue=ONE, layout="6", library="bullmq", version="6.7.0")
SECOND = replace(
    FIRST,
    queue=TWO,
    jobs=dict.fromkeys(State, 100),
    paused=False,
    waiting_since=replace(FULL.waiting_since, ms=NOW_MS - 10_000, exact=False),  # type: ignore[type-var]  # FULL has one
    active_since_ms=NOW_MS - 500_000,
    due_ms=NOW_MS + 5_000,
    last_completed_ms=NOW_MS,
    concurrency_limit=3,
    rate_limited_ms=0,
    schedulers=(Scheduler(id="nightly", next_ms=NOW_MS - 9_000), Scheduler(id="own", next_ms=NOW_MS)),
    data_bytes=5,
    version="5.81.5",
    layout="5",
)
SLO = {ONE: Slo(wait=30.0, objective=0.99), TWO: Slo(wait=5.0, objective=0.9)}


def collection() -> Collection:
    return Collection(enabled={}, slo=SLO.get, queue_templates=("t-*-m",))


def look(*queues: QueueSnapshot, trouble: Trouble | None = None) -> Snapshot:
    return Snapshot(servers=(ServerSnapshot(now_ms=NOW_MS, queues=queues),), trouble=trouble)


def values(samples: list[Samples]) -> dict[str, dict[str, float]]:
    """Values by family and by the labels that come beside the queue's."""
    return {
        each.family.name.removeprefix("bullmq_"): {
            labels.replace(MERGED, "t"): value for labels, value in rows(each) if "prefix=" in labels
        }
        for each in samples
    }


def test_each_family_is_merged_in_its_own_way() -> None:
    seen = values(collection().collect(look(FIRST, SECOND, replace(UNREAD, queue=THREE))))
    shown = {name: told for name, told in seen.items() if told}

    assert shown.pop("queue_jobs") == {f't,state="{state}"': FIRST.jobs[state] + 100 for state in State}
    assert shown.pop("queue_oldest_job_age_seconds") == {
        't,state="waiting"': 90.5,
        't,state="prioritized"': 60,
        't,state="active"': 500,
        't,state="waiting-children"': 3600,
        't,state="failed"': 86400,
    }
    assert shown.pop("queue_blocked")['t,reason="paused"'] == 1
    expected = {
        "queue_ready_jobs": {"t": 200},
        "queue_groups": {'t,status="free"': 2, 't,status="limited"': 4, 't,status="maxed"': 6, 't,status="paused"': 8},
        "queue_oldest_job_age_exact": {'t,state="waiting"': 0, 't,state="prioritized"': 0},
        "queue_delayed_overdue_seconds": {"t": 1.5},
        "queue_next_delayed_timestamp_seconds": {"t": (NOW_MS - 1_500) / 1000},
        "jobs_completed_total": {"t": 2 * 999_999},
        "jobs_failed_total": {"t": 2_000_000},
        "queue_add_attempts_total": {"t": 26},
        "queue_events_total": {"t": 64_002},
        "queue_events_retained": {"t": 20_038},
        "queue_events_limit": {"t": 20_000},
        "queue_last_event_timestamp_seconds": {"t": (NOW_MS - 5) / 1000},
        "queue_last_completed_timestamp_seconds": {"t": NOW_MS / 1000},
        "queue_last_failed_timestamp_seconds": {"t": (NOW_MS - 20) / 1000},
        "queue_workers": {"t": 12},
        "queue_paused": {"t": 1},
        "queue_concurrency_limit": {"t": 3},
        "queue_rate_limited_seconds": {"t": 2.5},
        "queue_unlocked_jobs": {"t": 2},
        "job_schedulers": {"t": 6},
        "job_scheduler_next_run_timestamp_seconds": {
            't,scheduler="nightly"': (NOW_MS - 9_000) / 1000,
            't,scheduler="every \\"5\\""': (NOW_MS + 60_000) / 1000,
            't,scheduler="own"': NOW_MS / 1000,
        },
        "job_data_bytes": {"t": 10_485_760},
        "queue_slo_wait_seconds": {"t": 5},
        "queue_slo_objective_ratio": {"t": 0.99},
        "queue_info": {
            'layout="6",library="bullmq",t,version="6.7.0"': 1,
            'layout="5",library="bullmq",t,version="5.81.5"': 1,
            'layout="unknown",library="bullmq",t,version=""': 1,
        },
        "queue_read_success": {"t": 0},
    }
    assert {name: shown.get(name) for name in expected} == expected


def test_no_queue_is_a_collision_and_others_stay_as_they_are() -> None:
    samples = collection().collect(look(FIRST, replace(EMPTY, queue=OTHER), SECOND))
    dropped = {labels: value for each in samples if "dropped" in each.family.name for labels, value in rows(each)}

    assert dropped['reason="collision"'] == 0
    assert values(samples)["queue_add_attempts_total"] == {"t": 26, 'prefix="bull",queue="other"': 0}


def test_a_counter_never_falls_as_queues_come_and_go() -> None:
    lasting = collection()
    busier = replace(SECOND, add_attempts=20)
    third = replace(FIRST, queue=THREE, add_attempts=5_000)
    trouble = Trouble(reason="timeout", message="no answer")
    looks = [
        (look(FIRST, SECOND), 26),
        (look(FIRST, SECOND), 26),  # the very same snapshots
        (look(FIRST, busier), 33),
        (look(busier), 33),
        (look(busier, third), 33),
        (look(trouble=trouble), None),
        (look(busier, replace(third, add_attempts=5_001)), 34),
        (look(third, trouble=trouble), 5_034),  # 5,000 after 5,001: it began anew
        (look(busier), 5_034),
        (look(), None),  # all are gone, and are forgotten
        (look(FIRST), 13),
    ]
    shown = [values(lasting.collect(snapshot))["queue_add_attempts_total"].get("t") for snapshot, _ in looks]

    assert shown == [total for _, total in looks]


def test_what_is_kept_is_what_would_be_printed_now() -> None:
    lasting = collection()
    for queues in (
        (FIRST, SECOND),
        (FIRST, SECOND),
        (FIRST, replace(SECOND, workers=None)),
        (SECOND,),
        (SECOND, FIRST),
    ):
        kept, anew = (values(each.collect(look(*queues))) for each in (lasting, collection()))
        gauges = [name for name in anew if not name.endswith("_total") and name != "queue_drain_seconds"]

        assert {name: kept[name] for name in gauges} == {name: anew[name] for name in gauges}
