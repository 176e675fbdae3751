"""What the events leave open, and a job's hash may tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qobserve.model.keys import QueueId


class Why(StrEnum):
    """What a question is for, the weightiest first where there are several.

    `outcome`: did the run fail, or was the job put back; `start`: when did it become ready, or a worker take it;
    `card`: what else does its hash say.
    """

    OUTCOME = "outcome"
    START = "start"
    CARD = "card"


_WEIGHTS = tuple(Why)


def weightier(one: Why | None, other: Why) -> Why:
    """The one of two that matters more."""
    return other if one is None else min(one, other, key=_WEIGHTS.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A job whose hash is to be read into a `Card`.

    Attributes:
        queue: The job's.
        job: Its id as Redis holds it.
        why: What for.
        error: Whether the class of its last failure (`Card.error`) is wanted, for which the stack trace must be read.
    """

    queue: QueueId
    job: bytes
    why: Why
    error: bool = False
