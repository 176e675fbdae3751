"""Every count that the exporter prints equals a brute-force reading of the keys that real BullMQ wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.drivers import DRIVERS
from rig.observation import observing
from rig.oracle import STATES
from rig.programs import KINDS
from rig.servers import DEFAULT_KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rig.observation import Observation
    from rig.servers import Server

EVERYWHERE = ("node-4.18.3", "node-6.7.0", "python-3.4.4")
COMBINATIONS = [
    pytest.param((kind, driver), id=f"{kind}-{driver}")
    for kind in KINDS
    for driver in (DRIVERS if kind == DEFAULT_KIND else EVERYWHERE)
]
AGE_TOLERANCE_SECONDS = 0.5


@pytest.fixture(scope="module", params=COMBINATIONS)
def seen(request: pytest.FixtureRequest, servers: Callable[[str], Server]) -> Iterator[Observation]:
    kind, driver = request.param
    with observing(driver, servers(kind)) as observation:
        yield observation


def test_the_scrape_is_whole(seen: Observation) -> None:
    successes = {labels: value for (name, labels), value in seen.samples.items() if name == "bullmq_collector_success"}
    up = [value for (name, _), value in seen.samples.items() if name == "bullmq_up"]

    assert up == [1.0]
    assert set(successes.values()) == {1.0}


def test_each_queue_is_found_and_no_other(seen: Observation) -> None:
    exported = {
        (dict(labels)["prefix"], dict(labels)["queue"])
        for (name, labels) in seen.samples
        if name == "bullmq_queue_jobs"
    }

    assert exported == seen.found
    assert exported == {(scene.prefix, scene.queue) for scene in seen.scenes}


def test_jobs_in_each_state(seen: Observation) -> None:
    exported = {scene: seen.by_label("bullmq_queue_jobs", scene, "state") for scene in seen.scenes}

    assert exported == {scene: seen.before[scene].jobs for scene in seen.scenes}


def test_the_scenarios_reach_each_state(seen: Observation) -> None:
    reached = {state for truth in seen.before.values() for state, count in truth.jobs.items() if count}
    never = set()
    if seen.version.major == 3 and seen.version.language == "node":
        never = {"prioritized"}  # up to 3.x prioritized jobs are kept in order in `wait`
    if seen.version.major >= 6 or seen.version.language == "python":
        never = {"paused"}  # from 6 on (and in the port) the jobs of a paused queue stay in `wait`

    assert reached == set(STATES) - never


def test_the_library_counts_the_same(seen: Observation) -> None:
    # Right in all that is played here, because the library's counts skip the fake ids of 3.x and 4.x as well. They are
    # wrong for a mixed fleet, where 6.x does not see a `paused` list that 5.x left: test_truth_mixed.py.
    for scene in seen.scenes:
        counted = {state: seen.before[scene].jobs[state] for state in seen.counts[scene]}

        assert counted == seen.counts[scene], scene


def test_paused(seen: Observation) -> None:
    exported = {scene: seen.value("bullmq_queue_paused", scene) for scene in seen.scenes}

    assert exported == {scene: float(seen.before[scene].paused) for scene in seen.scenes}


def test_add_attempts(seen: Observation) -> None:
    exported = {scene: seen.value("bullmq_queue_add_attempts_total", scene) for scene in seen.scenes}

    # A queue whose counter was never touched has had no add.
    assert exported == {scene: seen.before[scene].add_attempts or 0 for scene in seen.scenes}


@pytest.mark.parametrize("outcome", ["completed", "failed"])
def test_totals_where_workers_keep_metrics(seen: Observation, outcome: str) -> None:
    exported = {scene: seen.value(f"bullmq_jobs_{outcome}_total", scene) for scene in seen.scenes}
    truth = {scene: getattr(seen.before[scene], outcome) for scene in seen.scenes}

    assert {count for count in truth.values() if count}, "no worker kept metrics: nothing was compared"
    assert exported == truth


def test_workers(seen: Observation) -> None:
    exported = {scene: seen.value("bullmq_queue_workers", scene) for scene in seen.scenes}

    assert exported == {scene: scene.workers for scene in seen.scenes}


def test_version(seen: Observation) -> None:
    exported = {scene: seen.by_label("bullmq_queue_info", scene, "version") for scene in seen.scenes}

    assert exported == {scene: {seen.before[scene].version: 1.0} for scene in seen.scenes}


def test_schedulers(seen: Observation) -> None:
    exported = {scene: seen.value("bullmq_job_schedulers", scene) for scene in seen.scenes}

    assert exported == {scene: seen.before[scene].schedulers for scene in seen.scenes}


def test_limits(seen: Observation) -> None:
    exported = {scene: seen.value("bullmq_queue_concurrency_limit", scene) for scene in seen.scenes}
    limited = [seen.value("bullmq_queue_rate_limited_seconds", scene) for scene in seen.scenes if scene.rate_limited]

    assert exported == {scene: scene.limit for scene in seen.scenes}
    assert all(3_500 < (seconds or 0) <= 3_600 for seconds in limited)


def test_ages_where_they_are_exact(seen: Observation) -> None:
    for scene in (scene for scene in seen.scenes if scene.exact_age):
        exported = seen.by_label("bullmq_queue_oldest_job_age_seconds", scene, "state")
        for state in seen.before[scene].since_ms:
            earliest, latest = (truth[scene].age_seconds(state) for truth in (seen.before, seen.after))
            assert earliest is not None
            assert latest is not None
            assert earliest - AGE_TOLERANCE_SECONDS <= exported[state] <= latest + AGE_TOLERANCE_SECONDS, (scene, state)
