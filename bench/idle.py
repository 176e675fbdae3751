"""What an exporter spends on many queues in which nothing happens, and which nobody looks at."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from contenders import exporter
from dataset import Filling, build

if TYPE_CHECKING:
    from rig.servers import Server

_FEW = Filling(jobs=1, waiting=True)
_SETTLE_SECONDS = 3.0


def idle_share(server: Server, *, queues: int, seconds: float) -> float:
    """Share of one core, for so many seconds in which it has nothing to do but to follow.

    Raises:
        RuntimeError: It follows fewer queues.
    """
    build(server, queues=queues, filling=_FEW)
    with exporter(server) as running:
        running.totals()
        time.sleep(_SETTLE_SECONDS)
        began, spent = time.monotonic(), running.cpu_seconds()
        time.sleep(seconds)
        share = (running.cpu_seconds() - spent) / (time.monotonic() - began)
        found = running.totals()["bullmq_queues"]
    if found != queues:
        raise RuntimeError(f"{found:.0f} of {queues} queues are followed")
    return share
