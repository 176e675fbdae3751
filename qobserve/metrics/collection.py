"""One scrape after the other: runs the collectors over snapshots, each of them on its own."""

from __future__ import annotations

import logging
from operator import is_
from typing import TYPE_CHECKING

from qobserve.metrics import COLLECTORS
from qobserve.metrics.collector import Seen, Shown
from qobserve.metrics.exporter import scrape_samples
from qobserve.metrics.printer import Printer
from qobserve.metrics.templates import Templates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from qobserve.config import Slo
    from qobserve.metrics.collector import Collector
    from qobserve.metrics.family import Samples
    from qobserve.metrics.tally import Tally
    from qobserve.model.keys import QueueId
    from qobserve.model.snapshot import QueueSnapshot, Snapshot

LOG = logging.getLogger("qobserve.metrics")


class Collection:
    """The collectors of one target.

    Args:
        enabled: Collectors by name; those that are missing run.
        slo: The promise made for a queue, if any; the same as long as this object lives.
        collectors: The table.
        tally: What was counted of the events; None where they are not followed. It may outlive this object.
        queue_templates: Globs of queues that are shown as one; with a tally its own count.
    """

    def __init__(
        self,
        *,
        enabled: Mapping[str, bool],
        slo: Callable[[QueueId], Slo | None],
        collectors: Iterable[Collector] = COLLECTORS,
        tally: Tally | None = None,
        queue_templates: Sequence[str] = (),
    ) -> None:
        self._slo = slo
        self._tally = tally
        self._templates = Templates(queue_templates) if tally is None else tally.templates
        printers = {
            collector.name: Printer(collector, followed=tally is not None)
            for collector in collectors
            if enabled.get(collector.name, True)
        }
        self._printers = {name: printer for name, printer in printers.items() if printer}
        self._looks: dict[str, tuple[QueueSnapshot, ...]] = {}
        self._before: dict[str, object] = {}
        self._dropped = dict.fromkeys(("schedulers", "collision", "job_name"), 0)

    def collect(self, snapshot: Snapshot) -> list[Samples]:
        """Everything that a scrape of the target shows."""
        shown = self._shown(snapshot)
        changed = self._changed(shown)
        unread = {problem.part for problem in snapshot.problems()}
        samples: list[Samples] = []
        succeeded: dict[str, bool] = {}
        servers = [server.facts for server in snapshot.servers if server.facts is not None]
        complete = snapshot.trouble is None
        for name, printer in self._printers.items():
            try:
                samples += list(printer.samples(shown, servers, changed, complete=complete))
            except Exception:  # the isolation of one collector from the others is the point of the loop
                LOG.exception("a collector failed", extra={"collector": name})
                printer.forget()
                unread.add(name)
            succeeded[name] = complete and name not in unread
        return [*scrape_samples(snapshot, succeeded, self._dropped), *samples]

    def _changed(self, shown: Mapping[str, Shown]) -> list[str] | None:
        """What is not as it was the last time; None where there are other labels now, or in another order."""
        looks = {labels: each.look for labels, each in shown.items()}
        before, self._before = self._before, looks
        if list(before) != list(looks):
            return None
        return [labels for labels, look in looks.items() if before[labels] is not look]

    def _shown(self, snapshot: Snapshot) -> dict[str, Shown]:
        """What is shown under which labels; this begins a new page in each book."""
        shown: dict[str, Shown] = {}
        looks: dict[str, tuple[QueueSnapshot, ...]] = {}
        for labels, (members, merged) in self._members(snapshot).items():
            look: object = members[0].queue
            if merged:
                queues = tuple(seen.queue for seen in members)
                before = self._looks.get(labels, ())
                look = looks[labels] = (
                    before if len(before) == len(queues) and all(map(is_, before, queues)) else queues
                )
            book = None if self._tally is None else self._tally.book(labels)
            if book is not None:
                book.turn()
            shown[labels] = Shown(tuple(members), merged, look, book)
        self._looks = looks
        if self._tally is not None:
            self._dropped["job_name"] = self._tally.names_left_out
        return shown

    def _members(self, snapshot: Snapshot) -> dict[str, tuple[list[Seen], bool]]:
        """The queues by their labels; of two whose names read the same (one of them no UTF-8) the first stays."""
        found: dict[str, tuple[list[Seen], bool]] = {}
        for server in snapshot.servers:
            for queue in server.queues:
                labels, merged = self._templates.labels(queue.queue)
                self._dropped["schedulers"] += queue.schedulers_hidden
                known = found.get(labels)
                if known is None:
                    found[labels] = ([Seen(queue, server.now_ms, self._slo(queue.queue))], merged)
                elif merged and known[1]:
                    known[0].append(Seen(queue, server.now_ms, self._slo(queue.queue)))
                else:
                    self._dropped["collision"] += 1
        return found
