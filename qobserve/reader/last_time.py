"""What a queue came to last time: where the replies are the same, so is everything worked out from them.

Most queues rest between two scrapes, and comparing replies costs a hundredth of understanding them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qobserve.model.reading import Details
    from qobserve.model.reply import Reply
    from qobserve.model.snapshot import QueueSnapshot
    from qobserve.reader.details import DetailPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTime:
    """A queue's replies of the first round trip, the plan made for the second, and what both came to."""

    raw: list[Reply]
    plan: DetailPlan
    details: Details
    snapshot: QueueSnapshot
