"""What is counted of what the fold of events tells, and when it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden.page import NOW_MS, TRACED, UNTRACED
from golden.printed import rows
from hypothesis import given
from hypothesis import strategies as st

from qobserve.config import MetricsSettings
from qobserve.metrics.book import KINDS
from qobserve.metrics.collection import Collection
from qobserve.metrics.exposition import OPENMETRICS, render
from qobserve.metrics.tally import Tally
from qobserve.model.keys import QueueId
from qobserve.model.run import Card, Counted, Outcome, Run, Started
from qobserve.model.snapshot import QueueSnapshot, ServerSnapshot, Snapshot

if TYPE_CHECKING:
    from qobserve.metrics.family import Samples

MAIL, SMS = QueueId(b"bull", b"mail"), QueueId(b"bull", b"sms")
OF_MAIL, OF_SMS = 'prefix="bull",queue="mail"', 'prefix="bull",queue="sms"'
COUNTERS = {kind: f"bullmq_jobs_{kind}_total" for kind in KINDS} | {
    "attempts_failed": "bullmq_job_attempts_failed_total"
}
WAIT, PROCESSING = "bullmq_job_wait_duration_seconds", "bullmq_job_processing_duration_seconds"
ONLY = {"enabled": {"depth": False, "limits": False, "info": False, "drain": False}, "slo": lambda _: None}


class Page:
    """Looks at queues by one tally."""

    def __init__(self, tally: Tally, *queues: QueueId) -> None:
        self._collection = Collection(**ONLY, tally=tally)  # type: ignore[arg-type]  # by name, all of the right types
        self._queues = queues or (MAIL,)

    def samples(self, *queues: QueueId) -> list[Samples]:
        snapshots = tuple(QueueSnapshot(queue=queue, jobs={}) for queue in queues or self._queues)
        return self._collection.collect(Snapshot(servers=(ServerSnapshot(now_ms=NOW_MS, queues=snapshots),)))

    def values(self, *queues: QueueId) -> dict[str, dict[str, float]]:
        return {each.family.name: dict(rows(each)) for each in self.samples(*queues)}

    def lines(self) -> dict[str, str]:
        """One look in OpenMetrics: the last line of each name."""
        page = render(self.samples(), OPENMETRICS).decode().split("\n")
        return {line.partition("{")[0]: line for line in page}


def counted(queue: QueueId = MAIL, kind: str = "completed", count: int = 1, name: str | None = None) -> Counted:
    return Counted(queue=queue, kind=kind, count=count, name=name)


def started(waited: int | None, *, live: bool = True, card: Card | None = None, name: str | None = None) -> Started:
    ready = None if waited is None else NOW_MS - waited
    return Started(queue=MAIL, job="1", live=live, started_ms=NOW_MS, ready_ms=ready, card=card, name=name)


def run(
    ran: int | None,
    outcome: Outcome = Outcome.COMPLETED,
    *,
    live: bool = True,
    card: Card | None = None,
    exhausted: bool = False,
) -> Run:
    begun = None if ran is None else NOW_MS - ran
    return Run(
        queue=MAIL,
        job="1",
        live=live,
        outcome=outcome,
        started_ms=begun,
        ended_ms=NOW_MS,
        card=card,
        exhausted=exhausted,
    )


def tally(**settings: object) -> Tally:
    return Tally(MetricsSettings.model_validate(settings))


def test_a_queue_that_is_known_has_all_counters_at_0() -> None:
    known = tally()
    known.known(MAIL)
    page = Page(known)

    for _ in range(3):
        values = page.values()
        assert {name: values[name] for name in COUNTERS.values()} == {name: {OF_MAIL: 0} for name in COUNTERS.values()}
        assert values["bullmq_events_missed_total"] == {OF_MAIL: 0}
        assert values["bullmq_events_lag_seconds"] == values["bullmq_queue_counters_partial"] == {}
        assert values[WAIT] == values[PROCESSING] == {}


def test_a_queue_that_is_not_followed_has_none() -> None:
    known = tally()
    known.known(SMS)

    assert Page(known).values()[COUNTERS["added"]] == {}


@pytest.mark.parametrize("kind", [*KINDS, "retries-exhausted"])
def test_each_kind_has_its_counter(kind: str) -> None:
    told = tally()
    told.known(MAIL)
    page = Page(told)
    page.values()
    for count in (1, 41):
        told.take(counted(kind=kind, count=count))
    values = page.values()

    shown = {name: values[name][OF_MAIL] for name in COUNTERS.values()}
    assert shown == dict.fromkeys(COUNTERS.values(), 0) | {COUNTERS[kind.replace("-", "_")]: 42}


@pytest.mark.parametrize("value", [counted(kind="waiting"), counted(kind=""), counted(count=0), counted(count=-5)])
def test_what_is_no_count_is_not_counted(value: Counted) -> None:
    told = tally()
    told.take(value)
    page = Page(told)
    page.values()

    assert {name: page.values()[name] for name in COUNTERS.values()} == {
        name: {OF_MAIL: 0} for name in COUNTERS.values()
    }


def test_the_first_value_that_is_shown_is_0_and_the_next_is_true() -> None:
    told = tally()
    for value in (counted(count=7), started(20), run(30)):
        told.take(value)
    told.missed(MAIL, 5)
    page = Page(told)
    first, second, third = page.values(), page.values(), page.values()

    assert (first[COUNTERS["completed"]][OF_MAIL], second[COUNTERS["completed"]][OF_MAIL]) == (0, 7)
    assert (first["bullmq_events_missed_total"][OF_MAIL], second["bullmq_events_missed_total"][OF_MAIL]) == (0, 5)
    for name in (WAIT, PROCESSING):
        assert set(first[name].values()) == {0}
        assert first[name].keys() == second[name].keys()
        assert (second[name][f"count {OF_MAIL}"], second[name][f'bucket le="+Inf",{OF_MAIL}']) == (1, 1)
    assert (second[WAIT][f"sum {OF_MAIL}"], second[PROCESSING][f"sum {OF_MAIL}"]) == (0.02, 0.03)
    assert second == third


def test_histograms_begin_with_the_first_event_and_at_0() -> None:
    told = tally()
    told.known(MAIL)
    page = Page(told)
    page.values()
    page.values()
    told.take(started(20))
    first, second = page.values(), page.values()

    assert set(first[WAIT].values()) == {0}
    assert second[WAIT][f"count {OF_MAIL}"] == 1
    assert set(second[PROCESSING].values()) == {0}


def test_the_rule_of_the_first_value_is_each_queues_own() -> None:
    told = tally()
    told.take(counted())
    page = Page(told, MAIL, SMS)
    page.values()
    told.take(counted(SMS))

    assert page.values()[COUNTERS["completed"]] == {OF_MAIL: 1, OF_SMS: 0}
    assert page.values()[COUNTERS["completed"]] == {OF_MAIL: 1, OF_SMS: 1}


def test_a_queue_that_could_not_be_read_has_not_been_shown() -> None:
    told = tally()
    told.take(counted())
    page = Page(told, SMS)
    page.values()

    assert [page.values(MAIL)[COUNTERS["completed"]][OF_MAIL] for _ in range(2)] == [0, 1]


def test_what_is_not_live_is_not_observed() -> None:
    told = tally()
    for value in (started(20, live=False), run(30, live=False)):
        told.take(value)

    assert Page(told).values()[WAIT] == {}


def test_only_known_durations_are_observed() -> None:
    told = tally()
    values = [started(None), run(None), run(5, Outcome.REMOVED), started(-50)]
    values += [run(10, outcome) for outcome in Outcome if outcome is not Outcome.REMOVED]
    for value in values:
        told.take(value)
    page = Page(told)
    page.values()
    shown = page.values()

    assert (shown[WAIT][f"count {OF_MAIL}"], shown[WAIT][f"sum {OF_MAIL}"]) == (1, 0)
    assert shown[PROCESSING][f"count {OF_MAIL}"] == len(Outcome) - 1
    assert shown[COUNTERS["completed"]] == {OF_MAIL: 0}  # totals come from Counted alone


def test_the_buckets_are_those_of_the_settings() -> None:
    told = tally(wait_buckets=(1.0, 7200.0), processing_buckets=(0.5,))
    told.take(started(20))
    shown = Page(told).values()

    assert [labels for labels in shown[WAIT] if "bucket" in labels] == [
        f'bucket le="{bound}",{OF_MAIL}' for bound in ("1.0", "7200.0", "+Inf")
    ]
    assert [labels for labels in shown[PROCESSING] if "bucket" in labels] == [
        f'bucket le="{bound}",{OF_MAIL}' for bound in ("0.5", "+Inf")
    ]


@pytest.mark.parametrize(
    ("outcome", "kinds"),
    [
        (Outcome.COMPLETED, {"completed"}),
        (Outcome.FAILED, {"failed", "attempts_failed"}),
        (Outcome.RETRIED, {"retried", "attempts_failed"}),
        (Outcome.STALLED, {"stalled"}),
        (Outcome.DELAYED, set()),
        (Outcome.REMOVED, set()),
    ],
)
def test_counters_point_to_the_trace_of_the_last_run_that_is_recorded(outcome: Outcome, kinds: set[str]) -> None:
    told = tally()
    for card in (TRACED, UNTRACED, None):
        told.take(run(10, outcome, card=card))
    page = Page(told)
    first, second = page.lines(), page.lines()

    assert [name for name in COUNTERS.values() if " # " in first[name]] == []  # 0 comes from no trace
    assert {kind for kind, name in COUNTERS.items() if " # " in second[name]} == kinds
    for kind in kinds:
        assert second[COUNTERS[kind]].endswith(
            ' 0.0 # {trace_id="0af7651916cd43dd8448eb211c80319c"} 1.0 1796035293.012'
        )


def test_no_attempt_left_points_to_the_trace_too() -> None:
    told = tally()
    told.take(run(10, Outcome.FAILED, card=TRACED, exhausted=True))
    page = Page(told)
    page.samples()

    assert " # " in page.lines()[COUNTERS["retries_exhausted"]]


def test_job_names_are_labels_up_to_the_limit() -> None:
    told = tally(job_names=True, job_names_limit=2)
    for name in ("a", "b", "c", "a", None, "c", "__other__", "d"):
        told.take(counted(name=name))
    told.take(started(20, name="b"))
    told.take(started(20, card=Card(name="a")))
    page = Page(told)
    page.values()
    shown = page.values()

    assert shown[COUNTERS["completed"]] == {
        f'name="__other__",{OF_MAIL}': 5,
        f'name="a",{OF_MAIL}': 2,
        f'name="b",{OF_MAIL}': 1,
    }
    assert {labels: count for labels, count in shown[WAIT].items() if "count" in labels} == {
        f'count name="__other__",{OF_MAIL}': 0,
        f'count name="a",{OF_MAIL}': 1,
        f'count name="b",{OF_MAIL}': 1,
    }
    assert shown["bullmq_series_dropped_total"]['reason="job_name"'] == 2


def test_a_job_name_that_comes_later_is_shown_as_0_first() -> None:
    told = tally(job_names=True)
    told.known(MAIL)
    page = Page(told)
    other = f'name="__other__",{OF_MAIL}'
    assert page.values()[COUNTERS["failed"]] == {other: 0}
    told.take(counted(kind="failed", name='say "x"'))

    label = rf'name="say \"x\"",{OF_MAIL}'
    assert [page.values()[COUNTERS["failed"]] for _ in range(2)] == [{other: 0, label: 0}, {other: 0, label: 1}]


def test_each_queue_has_job_names_of_its_own() -> None:
    told = tally(job_names=True, job_names_limit=1)
    for queue, name in ((MAIL, "a"), (SMS, "b"), (MAIL, "c"), (SMS, "c"), (MAIL, "c")):
        told.take(counted(queue, name=name))
    shown = Page(told, MAIL, SMS).values()

    assert list(shown[COUNTERS["completed"]]) == [
        f'name="__other__",{OF_MAIL}', f'name="a",{OF_MAIL}', f'name="__other__",{OF_SMS}', f'name="b",{OF_SMS}',
    ]  # fmt: skip
    assert told.names_left_out == 2


def test_queues_of_a_template_are_counted_as_one_and_what_one_added_stays() -> None:
    told = tally(queue_templates=("*m*",))
    merged = 'prefix="bull",queue="*m*"'
    for value in (counted(MAIL, count=3), counted(SMS, count=4)):
        told.take(value)
    told.lag(MAIL, 2.0)
    told.lag(SMS, 5.0)
    page = Page(told, MAIL, SMS)
    page.values()
    assert page.values()[COUNTERS["completed"]] == {merged: 7}
    assert page.values()["bullmq_events_lag_seconds"] == {merged: 5}

    told.forget(SMS)
    assert page.values(MAIL)[COUNTERS["completed"]] == {merged: 7}
    assert page.values(MAIL)["bullmq_events_lag_seconds"] == {merged: 2}

    told.forget(MAIL)
    told.known(MAIL)
    assert page.values(MAIL)[COUNTERS["completed"]] == {merged: 0}


def test_a_queue_that_vanished_and_came_again_begins_anew() -> None:
    told = tally()
    told.take(counted(count=3))
    page = Page(told)
    page.values()
    told.forget(MAIL)
    told.forget(MAIL)
    assert page.values()[COUNTERS["completed"]] == {}
    told.take(counted(count=1))

    assert [page.values()[COUNTERS["completed"]] for _ in range(2)] == [{OF_MAIL: 0}, {OF_MAIL: 1}]


def test_a_queue_that_vanished_and_came_again_between_two_looks_begins_anew() -> None:
    told = tally()
    told.take(counted(count=3))
    page = Page(told)
    page.values()
    page.values()
    told.forget(MAIL)
    for _ in range(2):  # as many changes as the queue had before
        told.take(counted())

    assert [page.values()[COUNTERS["completed"]] for _ in range(2)] == [{OF_MAIL: 0}, {OF_MAIL: 2}]


def test_what_was_missed_is_told_and_what_is_made_up_is_counted() -> None:
    told = tally()
    told.known(MAIL)
    page = Page(told)
    page.values()
    for events in (10, 0, -3, 5):
        told.missed(MAIL, events)
    told.made_up(MAIL, "completed", 4)
    told.made_up(MAIL, "completed", -4)
    told.made_up(MAIL, "nonsense", 4)
    for kind in ("stalled", "retries-exhausted", "stalled", "nonsense"):
        told.partial(MAIL, kind)
    told.lag(MAIL, 0.5)
    shown = page.values()

    assert shown["bullmq_events_missed_total"] == {OF_MAIL: 15}
    assert shown[COUNTERS["completed"]] == {OF_MAIL: 4}
    assert shown["bullmq_queue_counters_partial"] == {
        f'counter="stalled",{OF_MAIL}': 1,
        f'counter="retries_exhausted",{OF_MAIL}': 1,
    }
    assert shown["bullmq_events_lag_seconds"] == {OF_MAIL: 0.5}


def test_counts_that_were_saved_go_on_and_do_not_begin_at_0() -> None:
    told = tally(job_names=True)
    for value in (counted(count=3, name="a"), counted(SMS, "failed", 2), counted(count=4)):
        told.take(value)
    saved = told.saved()
    again = tally(job_names=True)
    again.restore(saved)
    again.known(MAIL)
    again.take(counted(name="a"))
    page = Page(again)

    assert page.values()[COUNTERS["completed"]] == {f'name="__other__",{OF_MAIL}': 4, f'name="a",{OF_MAIL}': 4}
    again.known(SMS)
    assert page.values(SMS)[COUNTERS["failed"]] == {f'name="__other__",{OF_SMS}': 2}
    assert again.saved()[OF_SMS] == saved[OF_SMS]


def test_what_was_saved_of_queues_that_are_not_known_yet_is_saved_again() -> None:
    told = tally()
    told.take(counted(count=3))
    again = tally()
    again.known(MAIL)
    again.restore(told.saved())  # also where the queue was there before
    again.restore({OF_SMS: {"__other__": {"failed": 2, "nonsense": 5, "added": -1}}})

    assert {labels: counts["__other__"].get("failed") for labels, counts in again.saved().items()} == {
        OF_MAIL: 0,
        OF_SMS: 2,
    }
    again.known(SMS)
    assert again.saved()[OF_SMS]["__other__"] == dict.fromkeys(KINDS, 0) | {"failed": 2}
    assert again.saved()[OF_MAIL]["__other__"]["completed"] == 3


def test_saved_counts_with_names_are_of_use_without() -> None:
    told = tally(job_names=True)
    for value in (counted(count=3, name="a"), counted(count=4)):
        told.take(value)
    again = tally()
    again.restore(told.saved())
    again.known(MAIL)

    assert Page(again).values()[COUNTERS["completed"]] == {OF_MAIL: 7}


VALUES = st.one_of(
    st.builds(
        Counted,
        queue=st.sampled_from([MAIL, SMS]),
        kind=st.sampled_from([*KINDS, "retries-exhausted", "waiting"]),
        count=st.integers(-2, 5),
        name=st.sampled_from([None, "a", "b", "c"]),
    ),
    st.builds(started, st.none() | st.integers(-5, 10**8), live=st.booleans(), card=st.sampled_from([None, TRACED])),
    st.builds(run, st.none() | st.integers(-5, 10**8), st.sampled_from(list(Outcome)), live=st.booleans()),
    st.none(),  # a look
)


@pytest.mark.parametrize("settings", [{}, {"job_names": True, "job_names_limit": 2}, {"queue_templates": ("*",)}])
@given(values=st.lists(VALUES, max_size=40))
def test_counters_never_fall_and_a_kept_line_is_as_it_would_be_printed_now(
    settings: dict[str, object], values: list[object]
) -> None:
    told = tally(**settings)
    page = Page(told, MAIL, SMS)
    before: dict[str, dict[str, float]] = {}
    for value in (*values, None, None, None):
        if value is not None:
            told.take(value)  # type: ignore[arg-type]  # one of the three
            continue
        shown = page.values()
        for name, series in before.items():
            if name.endswith(("_total", "duration_seconds")):
                assert {labels: shown[name].get(labels, -1) >= old for labels, old in series.items()} == dict.fromkeys(
                    series, True
                )
        before = shown

    anew = Page(told, MAIL, SMS).values()
    assert {name: anew[name] for name in COUNTERS.values()} == {name: before[name] for name in COUNTERS.values()}
    assert {name: anew[name] for name in (WAIT, PROCESSING)} == {name: before[name] for name in (WAIT, PROCESSING)}
    totals = dict.fromkeys(KINDS, 0)
    for value in values:
        if isinstance(value, Counted) and value.count > 0 and value.kind != "waiting":
            totals[value.kind.replace("-", "_")] += value.count
    assert {kind: sum(before[name].values()) for kind, name in COUNTERS.items()} == totals
