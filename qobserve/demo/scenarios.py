"""The queues of the demo: what goes into each, how its jobs run, and the sentence that says what it shows.

Everything follows from the number of the addition, so that each run of the demo shows the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

READY: Final = "ready"
"""The line by which the workload's process says that every queue exists."""

_FAILURES = (0, 1, 0, 0, 2, 3)  # failed attempts of one payment in a row of six; three are all that it has
_DELAYS_MS = (4_000, 9_000, 20_000)
_PRIORITIES = (20, 5, 1, 20)  # 1 is the most urgent


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to add: `opts` in BullMQ's own words; `children`, in the queue `children_queue`, make it a flow."""

    name: str
    data: Mapping[str, object] = field(default_factory=dict)
    opts: Mapping[str, object] = field(default_factory=dict)
    children_queue: str = ""
    children: tuple[NewJob, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One queue: every `every` seconds it gets `adds(n)`, and `concurrency` jobs run at a time, `runs` seconds each."""

    queue: str
    shows: str
    runs: float
    concurrency: int = 1
    adds: Callable[[int], tuple[NewJob, ...]] | None = None
    every: float = 1.0
    at_start: int = 1
    paused: bool = False
    scheduler_ms: int = 0


def _email(number: int) -> tuple[NewJob, ...]:
    return (NewJob(name="welcome", data={"to": f"user-{number}@example.org"}),)


def _payment(number: int) -> tuple[NewJob, ...]:
    retries = {"attempts": 3, "backoff": {"type": "exponential", "delay": 2_000}}
    return (NewJob(name="charge", data={"fails": _FAILURES[number % len(_FAILURES)]}, opts=retries),)


def _reminder(number: int) -> tuple[NewJob, ...]:
    return (NewJob(name="remind", opts={"delay": _DELAYS_MS[number % len(_DELAYS_MS)]}),)


def _tickets(number: int) -> tuple[NewJob, ...]:
    return tuple(NewJob(name="ticket", data={"burst": number}, opts={"priority": each}) for each in _PRIORITIES * 2)


def _order(number: int) -> tuple[NewJob, ...]:
    steps = tuple(NewJob(name=step) for step in ("reserve", "pack", "ship"))
    return (NewJob(name="order", data={"order": number}, children_queue="order-steps", children=steps),)


def _issue(number: int) -> tuple[NewJob, ...]:
    return (NewJob(name="issue", data={"reader": number}),)


def _images(number: int) -> tuple[NewJob, ...]:
    return tuple(NewJob(name="resize", data={"image": number, "width": width}) for width in (320, 1280))


def _export(number: int) -> tuple[NewJob, ...]:
    return (NewJob(name="export", data={"account": number}),)


SCENARIOS = (
    Scenario(queue="emails", shows="steady successes, a healthy queue", adds=_email, every=0.5, runs=0.2),
    Scenario(queue="payments", shows="failures, retried with back-off", adds=_payment, runs=0.3, concurrency=2),
    Scenario(queue="reminders", shows="delayed jobs, run when due", adds=_reminder, every=1.5, at_start=6, runs=0.2),
    Scenario(queue="support", shows="bursts: urgent jobs overtake", adds=_tickets, every=12.0, runs=1.0),
    Scenario(queue="orders", shows="flow parents, awaiting children", adds=_order, every=4.0, runs=0.5),
    Scenario(queue="order-steps", shows="the children of those flows", runs=1.2),
    Scenario(queue="reports", shows="a job scheduler, every 5 seconds", scheduler_ms=5_000, runs=1.5),
    Scenario(
        queue="newsletter",
        shows="paused, with its jobs inside",
        adds=_issue,
        every=10.0,
        at_start=40,
        paused=True,
        runs=0.5,
    ),
    Scenario(queue="thumbnails", shows="a worker too slow: backlog grows", adds=_images, at_start=5, runs=1.0),
    Scenario(
        queue="exports",
        shows="no worker: jobs grow old",
        adds=_export,
        every=5.0,
        at_start=12,
        runs=0.0,
        concurrency=0,
    ),
)
"""In the order in which they are shown."""
