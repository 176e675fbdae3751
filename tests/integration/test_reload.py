"""A reload that changes a target, as those see it who scrape meanwhile; and a log that stays short when much goes."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx
import pytest
from rig.child import wait_until
from rig.log import logged, scrape, up
from rig.plain import waiting, write_queue
from rig.scrape import exporting
from rig.servers import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import redis
    from rig.scrape import Exporter
    from rig.servers import Server

QUEUES = 120
SHOWN = (1.0, QUEUES)
CONNECTIONS = 3
"""Of one target: one to search, one to look, one to follow."""
OTHER_KEYS = 20_000
"""So that a search takes longer than a scrape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """An exporter that has read all queues, and the file of its settings."""

    exporter: Exporter
    config: Path
    url: str

    def write(self, text: str) -> httpx.Response:
        self.config.write_text(text, encoding="utf-8")
        return httpx.post(f"{self.exporter.url}/-/reload", timeout=15)

    def write_settings(self, number: int) -> int:
        return self.write(settings(self.url, number)).status_code

    def shown(self) -> tuple[float, int]:
        """Whether Redis is up, and how many queues are shown."""
        samples = scrape(self.exporter)
        return up(samples), len(waiting(samples))


def settings(url: str, number: int) -> str:
    """Different ones for each number."""
    discovery = {"interval": "1s", "scan-count": 10}
    return json.dumps({"redis": {"url": url, "timeout": f"{4 + number}s"}, "discovery": discovery})


@pytest.fixture
def watched(server: Server, redis_client: redis.Redis, tmp_path: Path) -> Iterator[Watched]:
    redis_client.mset({f"other:{number}": 1 for number in range(OTHER_KEYS)})
    for number in range(QUEUES):
        write_queue(redis_client, f"q{number}")
    config = tmp_path / "config.yml"
    config.write_text(settings(server.url, 0), encoding="utf-8")
    with exporting("--config.file", str(config)) as exporter:
        yield Watched(exporter=exporter, config=config, url=server.url)


def test_no_scrape_fails_or_misses_a_queue_during_reloads(watched: Watched, redis_client: redis.Redis) -> None:
    over = threading.Event()

    def one_reader_is_left() -> bool:
        return sum(each["name"] == "qobserve" for each in redis_client.client_list()) == CONNECTIONS

    def watch() -> set[tuple[float, int]]:
        seen = {watched.shown()}
        while not over.is_set():
            seen.add(watched.shown())
        return seen

    with ThreadPoolExecutor(4) as pool:
        watches = [pool.submit(watch) for _ in range(4)]
        try:
            answers = {watched.write_settings(number) for number in (1, 2, 3)}
            wait_until(one_reader_is_left, "the last reader to take over", poll=0.1)
            answers.add(watched.write_settings(4))
            wait_until(one_reader_is_left, "the next one to take over", poll=0.1)
        finally:
            over.set()
        assert set().union(*(each.result() for each in watches)) == {SHOWN}
    assert answers == {200}
    assert logged(watched.exporter, "redis cannot be read") == []


def test_a_reload_to_a_redis_that_is_down_is_told(watched: Watched) -> None:
    """The former target answers for a while, and those who wonder why can read it in the log."""
    changed = watched.write(settings(f"redis://127.0.0.1:{free_port()}/0", 1))
    assert changed.status_code == 200
    assert watched.shown() == SHOWN
    (line,) = logged(watched.exporter, "the former target answers until the new one has been read")
    assert "target=default" in line
    assert "level=info" in line


@pytest.mark.parametrize("nothing", ["", "# nothing yet\n"])
def test_a_file_that_is_empty_for_a_moment_changes_nothing(watched: Watched, nothing: str) -> None:
    refused = watched.write(nothing)
    assert (refused.status_code, "it is empty and was not before" in refused.text) == (500, True)
    assert watched.shown() == SHOWN
    assert watched.write_settings(1) == 200


def test_many_queues_that_go_at_once_are_told_in_few_lines(watched: Watched, redis_client: redis.Redis) -> None:
    redis_client.flushall()
    wait_until(lambda: watched.shown() == (1.0, 0), "all queues to be gone")
    each = logged(watched.exporter, 'msg="a queue is gone"')
    more = [int(line.rpartition("count=")[2]) for line in logged(watched.exporter, 'msg="more queues are gone"')]
    assert len(each) <= 2 * 20  # by a search that was under way, and by the next
    assert QUEUES - 10 <= len(each) + sum(more) <= QUEUES  # the oldest lines may be out of sight
