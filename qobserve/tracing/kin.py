"""What is remembered of other jobs' runs, so that spans can be linked to theirs: parents, children, earlier runs."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from qobserve.model.run import Outcome
from qobserve.tracing.ids import facts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qobserve.model.run import Run
    from qobserve.tracing.ids import Facts

MOST_CHILDREN = 100
"""Children that a parent's span is linked to; the newest ones. An SDK's default limit is 128 links."""

_AGAIN = {Outcome.RETRIED, Outcome.STALLED, Outcome.DELAYED, Outcome.WAITING_CHILDREN, Outcome.FAILED}
"""Outcomes after which the job may run again."""

Value = TypeVar("Value")


class Kin(Protocol):
    """Who answers what is known of other runs; a key is a full one, `prefix:queue:id`."""

    def job(self, key: str) -> Facts | None:
        """The latest run of a job, or the first one that is still to come."""

    def earlier_run(self, key: str) -> Facts | None:
        """The run of a job that ended last."""

    def earlier_iteration(self, scheduler: str) -> Facts | None:
        """The latest iteration of a scheduler that has ended a run."""

    def children(self, key: str) -> Sequence[Facts]:
        """The last runs of a job's children in a flow."""


class Remembered:
    """A `Kin` from the runs that it is given; bounded, and what was touched longest ago is forgotten first.

    Args:
        most: How many jobs, schedulers and parents are remembered, of each.
        open_job: Tells of a job that has not run yet: `Facts` with key, `added_ms` and, where known, the card.
    """

    def __init__(self, most: int, open_job: Callable[[str], Facts | None] | None = None) -> None:
        self._open_job = open_job
        self._runs: _Latest[Facts] = _Latest(most)
        self._iterations: _Latest[Facts] = _Latest(most)
        self._children: _Latest[tuple[Facts, ...]] = _Latest(most)

    def take(self, run: Run) -> None:
        """Remember a run, after its own spans were described."""
        facts = facts_of(run)
        if run.outcome in _AGAIN:
            self._runs[facts.key] = facts
        else:
            self._runs.pop(facts.key, None)
            self._children.pop(facts.key, None)
        if run.card is not None and run.card.parent is not None:
            others = (one for one in self._children.get(run.card.parent, ()) if one.key != facts.key)
            self._children[run.card.parent] = (*others, facts)[-MOST_CHILDREN:]
        if facts.scheduler is not None and _due(facts) >= _due(self._iterations.get(facts.scheduler)):
            self._iterations[facts.scheduler] = facts

    def job(self, key: str) -> Facts | None:
        """As in `Kin`."""
        found = self._runs.get(key)
        if found is None and self._open_job is not None:
            found = self._open_job(key)
        return replace(found, attempt=1) if found and found.attempt is None and found.moment_ms is None else found

    def earlier_run(self, key: str) -> Facts | None:
        """As in `Kin`."""
        return self._runs.get(key)

    def earlier_iteration(self, scheduler: str) -> Facts | None:
        """As in `Kin`."""
        return self._iterations.get(scheduler)

    def children(self, key: str) -> Sequence[Facts]:
        """As in `Kin`."""
        return self._children.get(key, ())


class _Latest(OrderedDict[str, Value], Generic[Value]):
    """A mapping that forgets what was set longest ago."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: str, value: Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._most:
            self.popitem(last=False)


def _due(facts: Facts | None) -> int:
    return (facts.iteration_ms or 0) if facts else 0


NOBODY = Remembered(0)
"""Who knows of no other run."""
