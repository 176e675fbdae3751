"""Which target answers a scrape, also during a reload, and what its answer costs; with readers that obey."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from qobserve.config import FollowSettings, Settings, TargetSettings
from qobserve.model.keys import QueueId
from qobserve.model.snapshot import QueueSnapshot, ServerSnapshot, Snapshot, Trouble
from qobserve.model.states import State
from qobserve.reader.reader import Reader
from qobserve.server import scrape as scrape_module
from qobserve.server import target as target_module
from qobserve.server.scrape import Scraper

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

TEXT = "text/plain"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
DOWN = Snapshot(trouble=Trouble(reason="unreachable", message="nobody there"))


class TameReader(Reader):
    """Tells `answer` once `found` and `answering` are set; an exception is raised."""

    def __init__(self, settings: TargetSettings, alias: str) -> None:
        super().__init__(settings, alias)
        self.found, self.asked, self.answering, self.closed = (asyncio.Event() for _ in range(4))
        self.answering.set()
        self.answer: Snapshot | Exception = looked_at(settings.url)

    @property
    def discovered(self) -> bool:
        return self.found.is_set()

    async def discovered_once(self) -> None:
        await self.found.wait()

    async def start(self) -> None:
        """Nothing is searched for."""

    async def close(self) -> None:
        self.closed.set()
        await super().close()

    async def _snapshot(self) -> Snapshot:
        self.asked.set()
        await self.answering.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Stage:
    """A scraper and all the readers that it has made, oldest first."""

    def __init__(self) -> None:
        self.readers: list[TameReader] = []
        self.scraper = Scraper(settings("redis://first"), self._make)

    def _make(self, target: TargetSettings, alias: str) -> TameReader:
        self.readers.append(TameReader(target, alias))
        return self.readers[-1]

    async def queues(self) -> set[str]:
        """The queues that a scrape shows; they are called as the Redis that holds them."""
        return set(numbers(await self.body(), "bullmq_queue_paused", "queue"))

    async def body(self, accept: str = TEXT, seconds: float = 5.0) -> bytes:
        return (await self.scraper.scrape(None, timeout=seconds, accept=accept)).body

    async def up(self) -> float:
        return numbers(await self.body(), "bullmq_up")[""]


def settings(*urls: str) -> Settings:
    names = ("default", "other")
    targets = {name: TargetSettings(url=url) for name, url in zip(names, urls, strict=False)}
    return Settings(targets=targets, follow=FollowSettings(enabled=False))  # no Redis is at these addresses


def looked_at(url: str, more: int = 0) -> Snapshot:
    names = (url, *map(str, range(more)))
    queues = (
        QueueSnapshot(queue=QueueId(b"bull", name.encode()), jobs={State.WAITING: 1}, paused=False) for name in names
    )
    return Snapshot(servers=(ServerSnapshot(now_ms=1, queues=tuple(queues)),))


def numbers(body: bytes, family: str, label: str = "") -> dict[str, float]:
    samples = (each for one in text_string_to_metric_families(body.decode()) for each in one.samples)
    return {each.labels.get(label, ""): each.value for each in samples if each.name == family}


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not check():  # noqa: ASYNC110 - what is awaited has no event of its own
            await asyncio.sleep(0.001)


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as stage:
        stage.readers[0].found.set()
        await until(stage.scraper.ready)
        yield stage


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    stage = Stage()
    await stage.scraper.start()
    yield stage
    await stage.scraper.close()
    assert all(reader.closed.is_set() for reader in stage.readers)


async def test_a_running_scrape_gets_its_answer_from_the_target_that_it_asked(stage: Stage) -> None:
    (old,) = stage.readers
    old.answering.clear()
    old.asked.clear()
    running = asyncio.create_task(stage.queues())
    await old.asked.wait()
    await stage.scraper.reload(settings("redis://second"))
    stage.readers[1].found.set()
    await until(lambda: not stage.scraper._stand_ins)  # noqa: SLF001 - a scrape that asked would have to wait with the first
    assert await stage.queues() == {"redis://second"}

    assert not old.closed.is_set()
    old.answering.set()
    assert await running == {"redis://first"}
    await until(old.closed.is_set)


async def test_the_old_target_serves_until_the_new_one_has_read_all_queues(stage: Stage) -> None:
    await stage.scraper.reload(settings("redis://second"))
    old, new = stage.readers
    assert [await stage.queues() for _ in range(3)] == [{"redis://first"}] * 3
    assert stage.scraper.ready()
    assert not old.closed.is_set()

    new.found.set()
    await until(old.closed.is_set)
    assert await stage.queues() == {"redis://second"}


async def test_a_second_reload_keeps_the_one_that_works(stage: Stage) -> None:
    await stage.scraper.reload(settings("redis://second"))
    await stage.scraper.reload(settings("redis://third"))
    first, second, third = stage.readers
    await until(second.closed.is_set)
    assert await stage.queues() == {"redis://first"}

    third.found.set()
    await until(first.closed.is_set)
    assert await stage.queues() == {"redis://third"}


async def test_a_target_in_trouble_does_not_stand_in(stage: Stage) -> None:
    old = stage.readers[0]
    old.answer = DOWN
    assert await stage.up() == 0
    await stage.scraper.reload(settings("redis://second"))
    assert await stage.up() == 1
    await until(old.closed.is_set)


async def test_a_stand_in_that_gets_into_trouble_is_asked_no_more(stage: Stage) -> None:
    await stage.scraper.reload(settings("redis://second"))
    stage.readers[0].answer = DOWN
    assert [await stage.up() for _ in range(3)] == [0, 1, 1]


async def test_a_new_target_that_never_reads_is_shown_in_the_end(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "PATIENCE", 0.05)
    await stage.scraper.reload(settings("redis://second"))
    assert await stage.queues() == {"redis://first"}
    await until(stage.readers[0].closed.is_set)
    assert await stage.queues() == {"redis://second"}
    assert not stage.scraper.ready()


async def test_a_target_that_is_gone_is_closed_and_one_that_stays_is_not(stage: Stage) -> None:
    await stage.scraper.reload(settings("redis://first", "redis://other"))
    await stage.scraper.reload(settings("redis://first"))
    first, other = stage.readers
    await until(other.closed.is_set)
    assert (stage.scraper.aliases(), first.closed.is_set()) == (("default",), False)


async def test_closing_leaves_nobody_behind_right_after_a_reload() -> None:
    async with staged() as stage:  # which looks that all are closed
        stage.readers[0].found.set()
        await until(stage.scraper.ready)
        await stage.scraper.reload(settings("redis://second", "redis://other"))
        await stage.scraper.reload(settings("redis://third"))


async def test_a_defect_is_told_once_and_costs_neither_the_answer_nor_the_warm_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(target_module, "_WARM_RETRY", 0.01)
    caplog.set_level(logging.DEBUG, "qobserve")
    async with staged() as stage:
        reader = stage.readers[0]
        reader.answer = KeyError("wait")
        reader.found.set()
        assert [await stage.up() for _ in range(3)] == [0, 0, 0]
        told = [record for record in caplog.records if record.levelno > logging.DEBUG]
        assert [vars(record)["reason"] for record in told] == ["internal"]
        assert vars(told[0])["error"] == "KeyError: 'wait'; this is a defect of qobserve, please report it"
        assert {record.levelno for record in caplog.records if record.exc_info} == {logging.DEBUG}

        reader.answer = looked_at("redis://first")
        await until(stage.scraper.ready)


async def test_scrapes_that_share_a_snapshot_share_its_page(stage: Stage) -> None:
    reader = stage.readers[0]
    reader.answering.clear()
    asked = [asyncio.create_task(stage.body(accept)) for accept in [TEXT, OPENMETRICS] * 15]
    await asyncio.sleep(0)
    reader.answering.set()
    bodies = await asyncio.gather(*asked)
    assert len({id(body) for body in bodies}) == 2
    assert bodies[1].endswith(b"# EOF\n")
    assert not bodies[0].endswith(b"# EOF\n")

    reader.answer = looked_at("redis://next")
    assert await stage.queues() == {"redis://next"}


async def test_new_collectors_print_the_same_snapshot_anew(stage: Stage) -> None:
    assert await stage.queues() == {"redis://first"}
    fewer = settings("redis://first").model_copy(update={"collectors": {"limits": False, "depth": False}})
    await stage.scraper.reload(fewer)
    assert len(stage.readers) == 1
    assert numbers(await stage.body(), "bullmq_queue_jobs", "queue") == {}


async def test_printing_is_part_of_the_time_that_a_scrape_may_take(stage: Stage) -> None:
    reader = stage.readers[0]
    reader.answer = looked_at("redis://first", more=2_000)
    await stage.body()
    reader.answering.clear()
    taken = [numbers(await stage.body(seconds=s), "bullmq_scrape_duration_seconds")[""] for s in (1.0, 0.005)]
    assert 0.2 <= taken[0] < 0.999
    assert taken[1] == pytest.approx(0.001)


def test_what_is_promised_is_remembered_for_so_many_queues_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrape_module, "_MOST_PROMISES", 10)
    asked: list[str] = []
    monkeypatch.setattr(Settings, "slo_for", lambda _self, _prefix, name: asked.append(name))
    promised = scrape_module._promises(Settings())  # noqa: SLF001 - what it forgets shows nowhere else
    for name in [*"abcdefghijk", "k", "a"]:
        promised(QueueId(b"bull", name.encode()))
    assert asked == [*"abcdefghijk", "a"]
