"""A fleet that runs BullMQ 5 and 6 side by side has jobs in both lists, and the exporter counts both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rig.drivers import driving
from rig.observation import scrape_at_rest
from rig.scrape import key
from rig.stage import Scene

if TYPE_CHECKING:
    import redis
    from rig.servers import Server


def test_jobs_that_5_paused_and_6_does_not_see(server: Server, redis_client: redis.Redis) -> None:
    with driving("node-5.81.5", server) as five, driving("node-6.7.0", server) as six:
        for driver in (five, five):
            driver.call("add", queue="mixed", name="job")
        five.call("pause", queue="mixed")
        six.call("add", queue="mixed", name="job")
        library = six.call("getJobCounts", queue="mixed")["counts"]
        _, samples, _ = scrape_at_rest(server, redis_client, (Scene(queue="mixed"),))

    jobs = {
        state: samples[key("bullmq_queue_jobs", prefix="bull", queue="mixed", state=state)]
        for state in ("waiting", "paused")
    }
    assert isinstance(library, dict)
    assert library["waiting"] == 1, "BullMQ 6 sees `wait` alone; where that changes, this test has lost its point"
    assert jobs == {"waiting": 1, "paused": 2}
