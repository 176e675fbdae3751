"""Whether scrapes wait for the search for queues: one exporter searches without a pause, another not at all."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, NamedTuple

from contenders import exporter
from rounds import Figures, spent

if TYPE_CHECKING:
    import redis
    from contenders import Exporter
    from rig.servers import Server

_BLOCK = 5
_LEAST_BLOCKS = 5
_PAUSE_SECONDS = 0.05


class Delays(NamedTuple):
    """Scrapes beside a search and without one, and how many SCAN calls ran during the former."""

    searching: Figures
    resting: Figures
    scans: int


def delays(server: Server, *, repeats: int) -> Delays:
    """Scrape both exporters in turns, a few times each; the one whose turn it is not is stopped.

    Raises:
        RuntimeError: There was no search to compare with.
    """
    searching, resting, scans = Figures(), Figures(), 0
    with exporter(server, interval="1ms") as busy, exporter(server) as calm, server.client() as client:
        for _ in range(max(repeats // _BLOCK, _LEAST_BLOCKS)):
            scans += _block(busy, searching, client)
            busy.child.signal(signal.SIGSTOP)
            _block(calm, resting, client)
            busy.child.signal(signal.SIGCONT)
    if not scans:
        raise RuntimeError("the exporter that should search for queues did not")
    return Delays(searching, resting, scans)


def _block(scraped: Exporter, figures: Figures, client: redis.Redis) -> int:
    """A few scrapes; how many SCAN calls Redis saw meanwhile."""
    scraped.scrape("plain")
    scans = 0
    for _ in range(_BLOCK):
        time.sleep(_PAUSE_SECONDS)
        client.config_resetstat()
        figures.seconds.append(scraped.scrape("plain"))
        stats = client.info("commandstats")
        scans += stats.pop("cmdstat_scan", {"calls": 0})["calls"]
        commands, usec = spent(stats)
        figures.redis_commands.append(commands)
        figures.redis_us.append(usec)
    return scans
