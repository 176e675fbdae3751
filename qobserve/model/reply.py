"""Raw answers of the store, as the wire carries them, before they mean anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Fault:
    """An error that the store answered in place of a value, such as `WRONGTYPE ...` or `NOPERM ...`."""

    message: str

    @property
    def code(self) -> str:
        """Its first word, by which errors of one kind are told from others."""
        return self.message.partition(" ")[0]


Reply: TypeAlias = "int | bytes | Fault | list[Reply] | None"
"""One answer: a number, a string, an error, nothing, or a list of answers."""


_LONGEST = 20
"""Digits and sign of the largest number that Redis counts to."""


def whole(reply: Reply) -> int | None:
    """A count, or a string that holds one; None for anything else, and for more digits than Redis counts with."""
    if isinstance(reply, int):
        return reply
    if isinstance(reply, bytes) and len(reply) <= _LONGEST:
        try:
            return int(reply)
        except ValueError:
            return None
    return None


def natural(reply: Reply) -> int | None:
    """A whole number of things, so none below 0; None for anything else."""
    number = whole(reply)
    return number if number is not None and number >= 0 else None


def strings(reply: Reply) -> list[bytes]:
    """The strings of a list; empty for anything else."""
    return [item for item in reply if isinstance(item, bytes)] if isinstance(reply, list) else []
