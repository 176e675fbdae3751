"""What has been counted of a queue (or of the queues that a template merges), series by series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.metrics.family import label
from qobserve.metrics.histogram import Histogram
from qobserve.metrics.names import OTHER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from qobserve.metrics.exemplar import Exemplar
    from qobserve.metrics.names import LeftOut

KINDS = (
    "added",
    "completed",
    "failed",
    "retried",
    "stalled",
    "delayed",
    "deduplicated",
    "removed",
    "retries_exhausted",
    "attempts_failed",
)
"""What is counted of jobs; a series holds its counts in this order."""

PLACE = {kind: place for place, kind in enumerate(KINDS)} | {"retries-exhausted": KINDS.index("retries_exhausted")}

SHOWN = 2
"""The stage from which on the truth is shown: at 0 nothing was shown yet, at 1 zeros are."""


class Durations:
    """How long jobs waited, and how long they ran."""

    __slots__ = ("processing", "stage", "wait")

    def __init__(self, wait: tuple[float, ...], processing: tuple[float, ...]) -> None:
        self.wait = Histogram(wait)
        self.processing = Histogram(processing)
        self.stage = 0


class Series:
    """The counts under one set of labels; its durations begin with its first event."""

    __slots__ = ("counts", "durations", "exemplars", "labels", "stage")

    def __init__(self, labels: str) -> None:
        self.labels = labels
        self.counts = [0] * len(KINDS)
        self.exemplars: dict[int, Exemplar] = {}
        self.durations: Durations | None = None
        self.stage = 0


class Cut:
    """How books are cut: bounds of the histograms, and how many job names have series of their own (None: no names)."""

    __slots__ = ("left_out", "names", "processing", "wait")

    def __init__(
        self, *, wait: tuple[float, ...], processing: tuple[float, ...], names: int | None, left_out: LeftOut
    ) -> None:
        self.wait = wait
        self.processing = processing
        self.names = names
        self.left_out = left_out


class Book:
    """The counts of a queue.

    Attributes:
        labels: The queue's labels, as they are printed.
        members: Base keys of the queues that are counted here.
        version: Changes with everything that is printed of the counts.
        trouble: Changes with everything that is printed of `missed`, `partial` and `lag`.
        missed: Events that could not be read.
        partial: The kinds of counts that are too low, because what was missed is not known.
        lags: For each member, for how many seconds it has had events that were not read.
    """

    __slots__ = ("_cut", "_named", "_young", "labels", "lags", "members", "missed", "only", "partial", "rest", "stage",
                 "trouble", "version")  # fmt: skip

    def __init__(self, labels: str, cut: Cut) -> None:
        self.labels = labels
        self.members: set[bytes] = set()
        self.version = self.trouble = 0
        self.missed = 0
        self.partial: set[str] = set()
        self.lags: dict[bytes, float] = {}
        self.stage = 0
        self._cut = cut
        self._named: dict[str, Series] = {}
        self._young: list[Book | Series | Durations] = [self]
        self.rest = self._begun(labels if cut.names is None else f"{label('name', OTHER)},{labels}")
        self.only = self.rest if cut.names is None else None

    def series(self) -> Iterable[Series]:
        """All series; the one without a job's name first."""
        return (self.rest, *self._named.values())

    def named(self, name: str | None) -> Series:
        """The series of a job's name."""
        if name is None:
            return self.rest
        return self._named.get(name) or self._new(name)

    def timed(self, series: Series) -> Durations:
        """The durations of a series; this is its first event where it has none yet."""
        durations = series.durations = Durations(self._cut.wait, self._cut.processing)
        self._young.append(durations)
        return durations

    def turn(self) -> None:
        """Begin a new page: what was not shown before is shown as 0, and what was shown so as it is.

        Without that `rate` would not see what was counted before the first look.
        """
        if self._young:
            for each in self._young:
                each.stage += 1
            self._young = [each for each in self._young if each.stage < SHOWN]
            self.version += 1
            self.trouble += 1

    def restore(self, counts: Mapping[str, Mapping[str, int]]) -> None:
        """Go on from counts, by job name and kind, that an earlier process showed; there may be fewer names now."""
        for name, kinds in counts.items():
            series = self.only or self.named(name)
            for kind, count in kinds.items():
                if kind in PLACE:
                    series.counts[PLACE[kind]] += max(count, 0)
            self._young = [each for each in self._young if each is not series]
            series.stage = SHOWN
        self.version += 1

    def counts(self) -> dict[str, dict[str, int]]:
        """What `restore` takes."""
        named = {OTHER: self.rest, **self._named}
        return {name: dict(zip(KINDS, series.counts, strict=True)) for name, series in named.items()}

    def _new(self, name: str) -> Series:
        if name == OTHER:
            return self.rest
        if len(self._named) >= (self._cut.names or 0):
            self._cut.left_out.note(self.labels, name)
            return self.rest
        series = self._named[name] = self._begun(f"{label('name', name)},{self.labels}")
        return series

    def _begun(self, labels: str) -> Series:
        series = Series(labels)
        self._young.append(series)
        return series
