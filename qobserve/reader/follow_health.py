"""Whether a target can be followed at all: one line in the log when it cannot any longer, one when it can again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from qobserve.errors import RedisError

LOG = logging.getLogger("qobserve.reader")


class Health:
    """The parts of a target that fail now."""

    def __init__(self, alias: str) -> None:
        self._alias = alias
        self._failing: set[Hashable] = set()

    @property
    def good(self) -> bool:
        """Whether nothing fails."""
        return not self._failing

    def failing(self, part: Hashable) -> bool:
        """Whether this part fails."""
        return part in self._failing

    def fails(self, part: Hashable, exc: RedisError) -> None:
        """A part has failed."""
        if not self._failing:
            LOG.warning("events cannot be followed", extra={"target": self._alias, "error": str(exc)})
        self._failing.add(part)

    def works(self, part: Hashable) -> None:
        """A part works."""
        if part in self._failing:
            self._failing.discard(part)
            if not self._failing:
                LOG.info("events are followed again", extra={"target": self._alias})

    def gone(self, part: Hashable) -> None:
        """A part is there no longer; it says nothing about those that took its place."""
        self._failing.discard(part)
