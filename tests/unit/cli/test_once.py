"""When one scrape is complete, when it never will be, and when it is not yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from qobserve.cli.once import complete_scrape

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True, slots=True)
class Answer:
    body: bytes
    content_type: str = "text/plain"


@dataclass
class Script:
    """A scraper that answers from a list, the last answer again and again, and is ready from a given scrape on."""

    bodies: list[bytes]
    ready_from: int
    asked: list[tuple[str | None, float]] = field(default_factory=list)

    async def scrape(self, alias: str | None, *, timeout: float, accept: str) -> Answer:  # noqa: ASYNC109, ARG002 - the contract
        self.asked.append((alias, timeout))
        return Answer(self.bodies[min(len(self.asked), len(self.bodies)) - 1])

    def ready(self) -> bool:
        return len(self.asked) >= self.ready_from

    def aliases(self) -> tuple[str, ...]:
        return ("default",)


async def test_a_ready_scraper_is_asked_once() -> None:
    script = Script([b"bullmq_up 1\n"], ready_from=0)
    assert await complete_scrape(script, "eu", 3.0) == (b"bullmq_up 1\n", True)
    assert script.asked == [("eu", 3.0)]


async def test_a_scrape_from_before_the_first_full_one_is_not_printed() -> None:
    script = Script([b"bullmq_up 1\nearly\n", b"bullmq_up 1\nhalf\n", b"bullmq_up 1\nfull\n"], ready_from=2)
    assert await complete_scrape(script, None, 3.0) == (b"bullmq_up 1\nfull\n", True)


async def test_a_redis_that_is_down_is_not_waited_for() -> None:
    for up in (b'bullmq_up{target="x"} 0', b"bullmq_up 0.0", b"a 1\nbullmq_up 0\nb 1"):
        script = Script([up], ready_from=99)
        assert await complete_scrape(script, None, 3.0) == (up, False)
        assert len(script.asked) == 1


async def test_an_endless_discovery_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    script = Script([b"bullmq_up 1\nbullmq_up_to 0\n"], ready_from=99)
    body, complete = await complete_scrape(script, None, 3.0, patience=0.15)
    assert (complete, len(script.asked) > 1) == (False, True)
    assert [record.message for record in caplog.records] == ["discovery did not end in time"]
    assert body.startswith(b"bullmq_up 1")
