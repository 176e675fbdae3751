"""What is always on beside a target's reader: its events are followed, counted, and traced where that is wanted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from qobserve.config import DEFAULT_TARGET
from qobserve.metrics.tally import Tally
from qobserve.model.keys import text
from qobserve.model.lifecycle import Lifecycle
from qobserve.reader.checkpoint import CheckpointError, load
from qobserve.reader.follow import Follower
from qobserve.reader.topology import topology
from qobserve.tracing.ids import Facts
from qobserve.tracing.options import SpanOptions
from qobserve.tracing.tracer import Tracer

if TYPE_CHECKING:
    from pathlib import Path

    from qobserve.config import FollowSettings, MetricsSettings, TargetSettings, TracingSettings
    from qobserve.model.keys import QueueId
    from qobserve.reader.follow import Sink
    from qobserve.reader.reader import Reader
    from qobserve.tracing.provider import Export

_REDIS_PORT = 6379


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowPlan:
    """How the events of all targets are followed.

    `metrics` says how they are counted, None where they are not; `export` is the way out for spans, None where none
    are wanted.
    """

    follow: FollowSettings
    metrics: MetricsSettings | None
    tracing: TracingSettings
    export: Export | None


class Following:
    """Follows the events of one target.

    Args:
        alias: The target's name in logs.
        settings: Which Redis.
        plan: How its events are followed.
        reader: Knows its queues.
    """

    def __init__(self, alias: str, settings: TargetSettings, plan: FollowPlan, reader: Reader) -> None:
        self._told: dict[QueueId, int] = {}
        self._checkpoint = _checkpoint(plan.follow.checkpoint_file, alias)
        self.tally = None if plan.metrics is None else Tally(plan.metrics)
        cards = plan.export is not None or (plan.metrics is not None and plan.metrics.exemplars)
        self._lifecycle = Lifecycle(plan.follow.open_jobs, cards=cards)
        sinks: list[Sink] = [] if self.tally is None else [self.tally]
        if plan.export is not None:
            address, port = _server(settings)
            options = SpanOptions(
                relation=plan.tracing.relation, ratio=plan.export.ratio, server_address=address, server_port=port
            )
            offer = plan.export.emitter.offer
            tracer = Tracer(
                options, offer, most=plan.follow.open_jobs, open_job=self._open_job, told_until=self._told.get
            )
            sinks.append(tracer)
        self._reader = reader
        reader.learn_from(self._lifecycle)
        self._follower = Follower(
            settings,
            alias,
            lambda: list(reader.queues),
            topology(settings),
            self._lifecycle,
            sinks,
            discovered=lambda: reader.discovered,
            past=plan.export is not None,
            checkpoint=self._checkpoint,
            memory=self.tally,
        )

    async def start(self) -> None:
        """Begin to follow."""
        if self._checkpoint is not None:
            self._told.update(await asyncio.to_thread(_told_until, self._checkpoint))
        await self._follower.start()

    async def close(self) -> None:
        """Stop, tell what has been read, write the checkpoint."""
        await self._follower.close()

    def _open_job(self, key: str) -> Facts | None:
        """What is known of a job that has not run yet, by its full key; a job's id may hold colons."""
        raw = key.encode()
        for queue in self._reader.queues:
            if raw.startswith(queue.base):
                job = raw[len(queue.base) :]
                known = self._lifecycle.open_job(queue, job)
                if known is not None:
                    return Facts(key=key, job=text(job), added_ms=known.added_ms, card=known.card)
        return None


def _server(settings: TargetSettings) -> tuple[str, int | None]:
    """The server's address and port for spans, never with credentials; a socket's path has no port."""
    url = urlsplit(settings.url)
    if url.scheme == "unix":
        return url.path, None
    return url.hostname or "127.0.0.1", url.port or _REDIS_PORT


def _told_until(checkpoint: Path) -> dict[QueueId, int]:
    """Up to which moment an earlier life of ours has read each queue; the follower says what is wrong with the file."""
    try:
        saved = load(checkpoint)
    except CheckpointError:
        return {}
    return {} if saved is None else {stream.queue: stream.cursor[0] for stream in saved.streams}


def _checkpoint(path: Path | None, alias: str) -> Path | None:
    """Each target has a file of its own: the default one that which is named, others with their alias in the name."""
    if path is None or alias == DEFAULT_TARGET:
        return path
    return path.with_name(f"{path.stem}.{alias}{path.suffix}")
