"""What of a queue could not be read: a key of the wrong type, or a command that is not allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.model.events import is_missing
from qobserve.model.reply import Fault
from qobserve.model.snapshot import Problem
from qobserve.reader.questions import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from qobserve.model.keys import QueueId
    from qobserve.model.reading import Answers

_ALSO_WANT = {b"meta": ("limits", "throughput"), b"paused": ("age",), b"active": ("age",)}
"""Further collectors that a question is asked for: `meta` tells whether a queue is paused, and its limits; the windows
of two lists tell both how long they are and who is in them."""


def queue_problems(queue: QueueId, answers: Answers, level_refused: Fault | None) -> Iterator[Problem]:
    """A problem for each fault; a stream that does not exist is none."""
    if level_refused is not None:
        yield Problem(part="age", queue=queue, what=f"ZRANGEBYSCORE {queue}:prioritized: {level_refused.message}")
    if Fault not in map(type, answers):
        return
    for question, reply in zip(QUESTIONS.values(), answers, strict=True):
        if isinstance(reply, Fault) and not is_missing(reply):
            what = f"{question.command.decode()} {queue}:{question.suffix.decode()}: {reply.message}"
            for part in (question.part, *_ALSO_WANT.get(question.suffix, ())):
                yield Problem(part=part, queue=queue, what=what)


def without_repetition(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The first problem of each part."""
    first: dict[str, Problem] = {}
    for problem in problems:
        first.setdefault(problem.part, problem)
    return tuple(first.values())
