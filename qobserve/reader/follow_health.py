"""Whether a target can be followed at all: one line in the log when it cannot any longer, one when it can again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from qobserve.errors import RedisError

LOG = logging.getLogger("qobserve.reader")


class Health:
    """The parts of a target that fail now; it is well again once none fails and events were read.

    Attributes:
        good: Whether all is well.
    """

    def __init__(self, alias: str) -> None:
        self.good = True
        self._alias = alias
        self._failing: set[Hashable] = set()

    def failing(self, part: Hashable) -> bool:
        """Whether this part fails."""
        return part in self._failing

    def fails(self, part: Hashable, exc: RedisError) -> None:
        """A part has failed."""
        self._failing.add(part)
        if self.good:
            self.good = False
            LOG.warning("events cannot be followed", extra={"target": self._alias, "error": str(exc)})

    def over(self, part: Hashable) -> None:
        """A part fails no longer, or is no longer there; what stands in for it has to prove itself."""
        self._failing.discard(part)

    def reads(self, part: Hashable) -> None:
        """A part has read events, or that there are none."""
        self._failing.discard(part)
        if not self.good and not self._failing:
            self.good = True
            LOG.info("events are followed again", extra={"target": self._alias})
