"""Event streams that real BullMQ wrote, by version and by what was done, and a fold that is told of them."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from qobserve.model.event import decode
from qobserve.model.keys import queue_id
from qobserve.model.lifecycle import Lifecycle
from qobserve.model.run import Card, Counted, Run, Started

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.model.event import Event
    from qobserve.model.lifecycle import Question, Told
    from qobserve.model.reply import Reply

FOLDER = Path(__file__).parent / "recorded"
VERSIONS = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))
QUEUE = queue_id("bull", "mail")


@cache
def _recorded(version: str) -> dict[str, dict[str, object]]:
    texts: dict[str, dict[str, object]] = json.loads((FOLDER / f"{version}.json").read_text())
    return texts


def scenarios(version: str) -> list[str]:
    """All that was recorded of a version."""
    return sorted(_recorded(version))


def entries(version: str, scenario: str) -> list[Reply]:
    """The stream's entries, as the wire carries them."""
    recorded: list[tuple[str, list[str]]] = _recorded(version)[scenario]["events"]  # type: ignore[assignment]  # JSON
    return [[identity.encode(), [word.encode() for word in words]] for identity, words in recorded]


def events(version: str, scenario: str) -> list[Event]:
    """The stream's events."""
    decoded = [decode(entry) for entry in entries(version, scenario)]
    assert None not in decoded
    return [event for event in decoded if event is not None]


def cards(version: str, scenario: str) -> dict[bytes, Card]:
    """What was left of the jobs' hashes in the end."""
    recorded: dict[str, dict[str, object]] = _recorded(version)[scenario]["cards"]  # type: ignore[assignment]  # JSON
    return {job.encode(): Card(**fields) for job, fields in recorded.items()}  # type: ignore[arg-type]  # likewise


class Fold:
    """A lifecycle, all that it told, and all that it asked; `cards` are its answers."""

    def __init__(
        self, answers: Mapping[bytes, Card] | None = None, *, most_open: int = 1000, cards: bool = False
    ) -> None:
        self.lifecycle = Lifecycle(most_open, cards=cards)
        self.answers = answers or {}
        self.asked: list[Question] = []
        self.counts: Counter[str] = Counter()
        self.named: Counter[tuple[str, str | None]] = Counter()
        self.runs: list[Run] = []
        self.started: list[Started] = []

    def feed(self, events: Sequence[Event], *, counted_from_ms: int = 0) -> Fold:
        """One batch."""
        self.take(self.lifecycle.feed(QUEUE, events, counted_from_ms=counted_from_ms))
        return self

    def answer(self) -> Fold:
        """One round of questions."""
        for question in self.lifecycle.questions():
            self.asked.append(question)
            self.take(self.lifecycle.answer(question, self.answers.get(question.job)))
        return self

    def settle(self) -> Fold:
        """As many rounds as may be needed for all that can be settled."""
        for _ in range(6):
            self.answer()
        assert self.lifecycle.questions() == []
        return self

    def take(self, told: list[Told]) -> None:
        """Sort what was told."""
        for value in told:
            match value:
                case Counted():
                    assert value.count > 0
                    self.counts[value.kind] += value.count
                    self.named[value.kind, value.name] += value.count
                case Run():
                    self.runs.append(value)
                case Started():
                    self.started.append(value)

    def outcomes(self) -> list[tuple[str, str, int | None]]:
        """Each run's job, outcome and ordinal, in the order of their ends."""
        ended = sorted(self.runs, key=lambda run: run.ended_ms)
        return [(run.job, run.outcome.value, run.attempt) for run in ended]
