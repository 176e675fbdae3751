"""All scenarios played on one server by one version of BullMQ, then read twice: by brute force and by the exporter."""

from __future__ import annotations

import dataclasses
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rig import oracle
from rig.drivers import driving, version_of
from rig.scenarios import SCENARIOS
from rig.scrape import key, once, parse
from rig.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis

    from rig.drivers import Answer, Version
    from rig.oracle import Truth
    from rig.scrape import Samples
    from rig.servers import Server
    from rig.stage import Scene

_ATTEMPTS = 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What was left by the scenarios, according to the oracle, to the library itself, and to the exporter.

    Attributes:
        version: Which BullMQ played.
        scenes: The queues.
        before: The oracle's reading just before the scrape.
        after: Just after it; but for the clock it says the same.
        counts: The library's own `getJobCounts`.
        found: All queues (prefix, name) whose keys are there.
        samples: The exporter's.
    """

    version: Version
    scenes: tuple[Scene, ...]
    before: dict[Scene, Truth]
    after: dict[Scene, Truth]
    counts: dict[Scene, Answer]
    found: set[tuple[str, str]]
    samples: Samples

    def value(self, name: str, scene: Scene, **labels: str) -> float | None:
        """The exported value of a queue's series; None where it is absent."""
        return self.samples.get(key(name, prefix=scene.prefix, queue=scene.queue, **labels))

    def by_label(self, name: str, scene: Scene, label: str) -> dict[str, float]:
        """All values of a queue in a family, by one of its labels."""
        own = {("prefix", scene.prefix), ("queue", scene.queue)}
        return {
            dict(labels)[label]: value
            for (family, labels), value in self.samples.items()
            if family == name and own < labels
        }


@contextmanager
def observing(driver_name: str, server: Server) -> Iterator[Observation]:
    """Play everything and read it; the workers live until the block ends."""
    with (
        server.client() as client,
        driving(driver_name, server) as driver,
        driving(driver_name, server) as victim,
    ):
        stage = Stage(driver=driver, victim=victim, client=client)
        scenes = tuple(scene for scenario in SCENARIOS for scene in scenario(stage))
        before, samples, after = scrape_at_rest(server, client, scenes)
        counts: dict[Scene, Answer] = {}
        for scene in scenes:
            answer = driver.call("getJobCounts", queue=scene.queue, prefix=scene.prefix)["counts"]
            assert isinstance(answer, dict)
            counts[scene] = answer
        yield Observation(
            version=version_of(driver_name),
            scenes=scenes,
            before=before,
            after=after,
            counts=counts,
            found=oracle.queues(client),
            samples=samples,
        )


def scrape_at_rest(
    server: Server, client: redis.Redis, scenes: tuple[Scene, ...]
) -> tuple[dict[Scene, Truth], Samples, dict[Scene, Truth]]:
    """Scrape between two readings of the oracle that say the same, so that all three looked at one state."""
    before = _read(client, scenes)
    for _ in range(_ATTEMPTS):
        done = once(server.url)
        after = _read(client, scenes)
        assert done.code == 0, done.errors
        if _timeless(before) == _timeless(after):
            return before, parse(done.text), after
        before = after
    raise AssertionError(f"the queues did not come to rest in {_ATTEMPTS} scrapes")


def _read(client: redis.Redis, scenes: tuple[Scene, ...]) -> dict[Scene, Truth]:
    return {scene: oracle.read(client, scene.queue, prefix=scene.prefix) for scene in scenes}


def _timeless(truths: dict[Scene, Truth]) -> dict[Scene, Truth]:
    return {scene: dataclasses.replace(truth, now_ms=0) for scene, truth in truths.items()}
