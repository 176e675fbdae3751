"""From settings to the text of a scrape: which target answers, also while new settings take the place of old ones."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from qobserve.config import DEFAULT_TARGET
from qobserve.metrics.collection import Collection
from qobserve.metrics.exporter import build_samples
from qobserve.metrics.exposition import negotiate, render
from qobserve.metrics.process import process_samples
from qobserve.metrics.spans import span_samples
from qobserve.reader.reader import Reader
from qobserve.server.following import FollowPlan
from qobserve.server.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from qobserve.config import Settings, Slo, TargetSettings
    from qobserve.metrics.family import Samples
    from qobserve.model.keys import QueueId
    from qobserve.server.target import MakeReader
    from qobserve.tracing.provider import Export

LOG = logging.getLogger("qobserve.server")

_MOST_PROMISES = 20_000
_LAST_SPANS_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Scrape:
    """One answer to Prometheus."""

    body: bytes
    content_type: str


class Scraper:
    """Answers scrapes of all targets by the settings in force.

    A target that new settings replace stands in for its successor until that has read all queues once, so that no
    scrape shows a Redis without its queues.
    """

    def __init__(self, settings: Settings, make_reader: MakeReader = Reader, export: Export | None = None) -> None:
        self._make_reader = make_reader
        self._export = export
        self._plan = _plan(settings, export)
        self._targets = {alias: self._new(alias, target) for alias, target in _effective(settings)}
        self._stand_ins: dict[str, Target] = {}
        self._leaving: set[Target] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._templates = settings.metrics.queue_templates
        self._collect_by(settings)

    async def start(self) -> None:
        """Start the readers, and the way out for spans."""
        if self._export is not None:
            self._export.emitter.start()
        await asyncio.gather(*(target.start() for target in self._targets.values()))

    async def close(self) -> None:
        """Stop the readers and close their connections."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        everyone = {*self._targets.values(), *self._stand_ins.values(), *self._leaving}
        await asyncio.gather(*(target.close() for target in everyone))
        if self._export is not None:
            await asyncio.to_thread(self._export.emitter.close, _LAST_SPANS_SECONDS)

    async def reload(self, settings: Settings) -> None:
        """Use new settings; a target whose own did not change goes on as it is."""
        before = {*self._targets.values(), *self._stand_ins.values()}
        targets = {alias: self._kept_or_new(alias, target) for alias, target in _effective(settings)}
        self._stand_ins = {alias: old for alias, new in targets.items() for old in self._able_to_stand_in(alias, new)}
        self._targets = targets
        self._collect_by(settings)
        await asyncio.gather(*(target.start() for target in targets.values() if target not in before))
        for alias in self._stand_ins:
            LOG.info("the former target answers until the new one has been read", extra={"target": alias})
            self._in_background(self._hand_over(alias, targets[alias]))
        for target in before - {*targets.values(), *self._stand_ins.values()}:
            self._retire(target)

    def _kept_or_new(self, alias: str, settings: TargetSettings) -> Target:
        old = self._targets.get(alias)
        return old if old is not None and old.settings == settings else self._new(alias, settings)

    def _new(self, alias: str, settings: TargetSettings) -> Target:
        return Target(alias, settings, self._make_reader, self._plan)

    def _able_to_stand_in(self, alias: str, new: Target) -> list[Target]:
        """At most one: the target so far, or what stands in for that."""
        candidates = (self._targets.get(alias), self._stand_ins.get(alias))
        return [] if new.seen else [old for old in candidates if old is not None and old.works][:1]

    async def _hand_over(self, alias: str, new: Target) -> None:
        """Dismiss the stand-in, unless a further reload has replaced the target that this was about."""
        await new.seen_once()
        if self._targets.get(alias) is new and alias in self._stand_ins:
            self._retire(self._stand_ins.pop(alias))

    def _retire(self, target: Target) -> None:
        self._leaving.add(target)
        self._in_background(self._farewell(target))

    async def _farewell(self, target: Target) -> None:
        await target.retire()
        self._leaving.discard(target)

    def _in_background(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _collect_by(self, settings: Settings) -> None:
        for target in self._targets.values():
            target.collect_by(
                Collection(
                    enabled=settings.collectors,
                    slo=_promises(settings),
                    tally=target.tally,
                    queue_templates=self._templates,
                )
            )

    def _serving(self, alias: str) -> Target | None:
        target, stand_in = self._targets.get(alias), self._stand_ins.get(alias)
        if target is not None and stand_in is not None and stand_in.works and not target.seen:
            return stand_in
        return target

    def ready(self) -> bool:
        """Whether every target was read in full once; one that goes down later shows as `bullmq_up 0` instead."""
        serving = (self._serving(alias) for alias in self._targets)
        return all(target is not None and target.seen for target in serving)

    def aliases(self) -> tuple[str, ...]:
        """The names of all targets."""
        return tuple(self._targets)

    async def scrape(self, alias: str | None, *, timeout: float, accept: str) -> Scrape:  # noqa: ASYNC109 - it bounds an answer that must be given anyway, it does not cancel
        """The metrics of a target; with no alias those of the default one, and the exporter's own."""
        content_type = negotiate(accept)
        target = self._serving(DEFAULT_TARGET if alias is None else alias)
        own = self._own if alias is None else _nothing
        body = render(own(), content_type) if target is None else await target.page(timeout, content_type, own)
        return Scrape(body=body, content_type=content_type)

    def _own(self) -> list[Samples]:
        """The exporter's own metrics."""
        spans = () if self._export is None else span_samples(self._export.emitter.counts())
        return [build_samples(), *process_samples(), *spans]


def _nothing() -> list[Samples]:
    return []


def _plan(settings: Settings, export: Export | None) -> FollowPlan | None:
    """How events are followed; a change needs a restart, so that no total begins anew unasked."""
    if not settings.follow.enabled:
        return None
    return FollowPlan(follow=settings.follow, metrics=settings.metrics, tracing=settings.tracing, export=export)


def _effective(settings: Settings) -> Iterator[tuple[str, TargetSettings]]:
    """Each target; where workers are not collected, connections are not listed."""
    for alias, target in settings.targets.items():
        if settings.collectors.get("workers", True):
            yield alias, target
        else:
            yield alias, target.model_copy(update={"workers_max_clients": 0})


def _promises(settings: Settings) -> Callable[[QueueId], Slo | None]:
    @lru_cache(maxsize=_MOST_PROMISES)
    def slo(queue: QueueId) -> Slo | None:
        return settings.slo_for(queue.prefix, queue.name)

    return slo
