"""Log lines about what cannot be read: one when it begins, one when it is over, none in between."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.model.keys import QueueId
    from qobserve.model.snapshot import Problem, Trouble

LOG = logging.getLogger("qobserve.server")

_MOST_LINES = 20

_Place: TypeAlias = "tuple[str, QueueId | None]"
"""Part and queue: what is wrong there may name another job at every scrape, and is still one thing that is wrong."""


class Complaints:
    """What is wrong with one target at present, as far as it was told."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._trouble: str | None = None
        self._problems: dict[_Place, Problem] = {}

    def hear(self, trouble: Trouble | None, problems: Sequence[Problem]) -> None:
        """Log what is new and what is over; while Redis as a whole cannot be read, nothing is said of its queues."""
        reason = None if trouble is None else trouble.reason
        if trouble is not None and reason != self._trouble:
            LOG.error(
                "redis cannot be read",
                extra={"target": self._alias, "reason": trouble.reason, "error": trouble.message},
            )
        if trouble is None and self._trouble is not None:
            LOG.info("redis can be read again", extra={"target": self._alias})
        self._trouble = reason
        if trouble is None:
            self._hear_problems({(problem.part, problem.queue): problem for problem in problems})

    def _hear_problems(self, problems: dict[_Place, Problem]) -> None:
        begun = sorted((problems[place] for place in problems.keys() - self._problems.keys()), key=_order)
        for problem in begun[:_MOST_LINES]:
            LOG.warning("a part cannot be read", extra=self._facts(problem))
        if len(begun) > _MOST_LINES:
            LOG.warning("more parts cannot be read", extra={"target": self._alias, "count": len(begun) - _MOST_LINES})
        over = sorted((self._problems[place] for place in self._problems.keys() - problems.keys()), key=_order)
        for problem in over[:_MOST_LINES]:
            LOG.info("a part is as it should be again", extra={**self._facts(problem), "error": None})
        self._problems = problems

    def _facts(self, problem: Problem) -> dict[str, object]:
        queue = None if problem.queue is None else str(problem.queue)
        return {"target": self._alias, "collector": problem.part, "queue": queue, "error": problem.what}


def _order(problem: Problem) -> tuple[str, str, str]:
    return str(problem.queue or ""), problem.part, problem.what
