"""The table of the demo's queues holds what the demo promises."""

from __future__ import annotations

from qobserve.demo.scenarios import SCENARIOS

BY_QUEUE = {scenario.queue: scenario for scenario in SCENARIOS}


def test_queues_have_names_and_sentences_of_their_own() -> None:
    assert len(BY_QUEUE) == len({scenario.shows for scenario in SCENARIOS}) == len(SCENARIOS) == 10


def test_additions_depend_on_nothing_but_their_number() -> None:
    for scenario in SCENARIOS:
        if scenario.adds is not None:
            assert scenario.adds(3) == scenario.adds(3)
            assert scenario.adds(0)


def test_some_payments_recover_and_some_fail_for_good() -> None:
    adds = BY_QUEUE["payments"].adds
    assert adds is not None
    jobs = [job for number in range(6) for job in adds(number)]
    assert [(job.data["fails"], job.opts["attempts"]) for job in jobs] == [
        (0, 3),
        (1, 3),
        (0, 3),
        (0, 3),
        (2, 3),
        (3, 3),
    ]
    assert all(job.opts["backoff"] for job in jobs)


def test_children_go_to_a_queue_of_the_demo_that_has_a_worker() -> None:
    adds = BY_QUEUE["orders"].adds
    assert adds is not None
    (parent,) = adds(0)
    assert parent.children
    assert BY_QUEUE[parent.children_queue].concurrency > 0


def test_each_way_to_get_stuck_and_each_way_to_wait_has_its_queue() -> None:
    assert [s.queue for s in SCENARIOS if s.paused] == ["newsletter"]
    assert [s.queue for s in SCENARIOS if not s.concurrency] == ["exports"]
    assert [s.queue for s in SCENARIOS if s.scheduler_ms] == ["reports"]
    options = {option for s in SCENARIOS if s.adds is not None for job in s.adds(0) for option in job.opts}
    assert options == {"attempts", "backoff", "delay", "priority"}


def test_only_the_backlog_of_the_slow_worker_grows() -> None:
    growing = {
        s.queue: s.runs * len(s.adds(0)) / s.every / s.concurrency
        for s in SCENARIOS
        if s.adds is not None and s.concurrency
    }
    assert {queue for queue, load in growing.items() if load > 1} == {"thumbnails"}
