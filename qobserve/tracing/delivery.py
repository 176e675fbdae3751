"""What became of a batch of spans at the endpoint, and who can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.tracing.description import SpanDescription

Loss: TypeAlias = Literal["refused", "failed"]
"""`refused`: the endpoint answered that it will not have them; `failed`: it did not answer, or not as it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """The end of one attempt; without a `loss` the endpoint has taken all.

    Attributes:
        loss: Why spans were not taken.
        rejected: How many of a batch were not taken; None where none was.
        error: A sentence for the log.
        again: Whether the same batch may be taken at another time.
        wait: Seconds that the endpoint asks to be left alone.
    """

    loss: Loss | None = None
    rejected: int | None = None
    error: str | None = None
    again: bool = False
    wait: float = 0.0

    def lost(self, size: int) -> int:
        """How many spans of a batch of this size were not taken."""
        if self.loss is None:
            return 0
        return size if self.rejected is None else min(size, self.rejected)


class Sender(Protocol):
    """Brings spans to an endpoint, one batch at a time, from one thread."""

    def deliver(self, spans: Sequence[SpanDescription]) -> Delivery:
        """Try once, for a bounded time; never raises."""

    def close(self) -> None:
        """Give up what is under way, from any thread, and let go of connections; may be called again."""
