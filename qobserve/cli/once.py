"""`qobserve exporter --once`: print one scrape of the queues and end."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING

from qobserve.cli.output import put
from qobserve.config import DEFAULT_TARGET
from qobserve.server.scrape import Scraper

if TYPE_CHECKING:
    from qobserve.config import Settings
    from qobserve.server import http

_log = logging.getLogger("qobserve.cli")
# A first pass over a very large database takes seconds; more than this and something is wrong with it.
_DISCOVERY_DEADLINE = 60.0
_POLL = 0.1
_DOWN = re.compile(rb"^bullmq_up(\{[^}\n]*\})? 0(\.0)?$", re.MULTILINE)


async def scrape_once(settings: Settings) -> int:
    """Print a scrape of the first target, made after its first discovery pass; 1 when it could not be read, else 0."""
    alias, target = next(iter(settings.targets.items()))
    seconds = target.timeout + target.connect_timeout
    alone = {"targets": {alias: target}, "follow": settings.follow.model_copy(update={"enabled": False})}
    scraper = Scraper(settings.model_copy(update=alone))
    await scraper.start()
    try:
        body, complete = await complete_scrape(scraper, None if alias == DEFAULT_TARGET else alias, seconds)
    finally:
        await scraper.close()
    put(body)
    return 0 if complete else 1


async def complete_scrape(
    scraper: http.Scraper, alias: str | None, seconds: float, patience: float = _DISCOVERY_DEADLINE
) -> tuple[bytes, bool]:
    """The last scrape, and whether all queues were in it; ends at the first that says that Redis is down.

    A single scrape may take `seconds`; after `patience` seconds the discovery is not waited for any longer.
    """
    deadline = asyncio.get_running_loop().time() + patience
    while True:
        was_ready = scraper.ready()
        body = (await scraper.scrape(alias, timeout=seconds, accept="text/plain")).body
        down = _DOWN.search(body) is not None
        if down or was_ready:
            return body, not down
        if asyncio.get_running_loop().time() > deadline:
            _log.error("discovery did not end in time", extra={"seconds": patience})
            return body, False
        if not scraper.ready():
            await asyncio.sleep(_POLL)
