"""The accounts of a stream: whatever is written, trimmed and read in whatever order, nothing is lost unseen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.model.event import decode
from qobserve.reader.follow_ledger import UNTOLD, Account, Found, Ledger, ledger_from_nothing, ledger_resumed
from qobserve.reader.follow_place import NOWHERE, START, Place

if TYPE_CHECKING:
    from qobserve.model.reply import Reply
    from qobserve.reader.follow_place import EntryId


class Totals(TypedDict):
    """What `metrics:*` hold."""

    completed: int
    failed: int


KINDS = ("added", "waiting", "completed", "failed", "duplicated")


def entry(number: int, kind: str = "waiting") -> Reply:
    return [b"%d-0" % number, [b"event", kind.encode(), b"jobId", b"1"]]


def read(ledger: Ledger, *entries: Reply) -> Found:
    return ledger.read(entries, [event for event in map(decode, entries) if event is not None])


@dataclass(slots=True)
class Redis:
    """What a server holds of one stream, and what it counts."""

    written: list[Reply] = field(default_factory=list)
    trimmed: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def write(self, kind: str) -> None:
        self.written.append(entry(len(self.written) + 1, kind))
        self.counts[kind] += 1

    def trim(self, count: int) -> None:
        self.trimmed = min(self.trimmed + count, len(self.written))

    def after(self, cursor: int, count: int) -> list[Reply]:
        return self.written[max(cursor, self.trimmed) :][:count]

    def place(self, *, sure: bool) -> Place:
        length = len(self.written) - self.trimmed
        return Place(
            last=(len(self.written), 0) if self.written else START,
            first=(self.trimmed + 1, 0) if length else None,
            length=length,
            added=len(self.written),
            completed=self.counts["completed"] if sure else None,
            failed=self.counts["failed"] if sure else None,
            attempts=self.counts["added"] + self.counts["duplicated"],
        )


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(KINDS)),
        st.tuples(st.just("trim"), st.integers(0, 5)),
        st.tuples(st.just("read"), st.integers(1, 6)),
        st.tuples(st.just("look"), st.booleans()),
    ),
    max_size=60,
)


@dataclass(slots=True)
class Reader:
    """Reads a stream, and adds up what its ledger finds."""

    server: Redis = field(default_factory=Redis)
    ledger: Ledger = field(default_factory=ledger_from_nothing)
    cursor: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    partial: set[str] = field(default_factory=set)
    missed: int = 0

    def tell(self, found: Found) -> None:
        assert found.missed >= 0
        assert all(count > 0 for count in found.made_up.values())
        self.missed += found.missed
        self.partial.update(found.partial)
        self.made.update(found.made_up)

    def read(self, count: int) -> None:
        entries = self.server.after(self.cursor, count)
        if not entries:
            self.tell(self.ledger.read_all())
            return
        events = [event for event in map(decode, entries) if event is not None]
        self.tell(self.ledger.read(entries, events))
        self.cursor = events[-1].ms
        self.seen.update(event.kind for event in events)

    def look(self, *, sure: bool) -> None:
        if not self.ledger.waiting:
            self.tell(self.ledger.look(self.server.place(sure=sure), (self.cursor, 0)))


@given(STEPS)
def test_missed_and_made_up_are_exact_once_everything_is_read(steps: list[tuple[str, object]]) -> None:
    server, reader = Redis(), Reader()
    reader.server = server
    does = {
        "write": lambda value: server.write(str(value)),
        "trim": lambda value: server.trim(int(value)),
        "read": lambda value: reader.read(int(value)),
        "look": lambda value: reader.look(sure=bool(value)),
    }
    for step, value in [*steps, *[("read", 100), ("look", True)] * 2]:
        does[step](value)

    assert reader.missed == len(server.written) - reader.seen.total()
    exact = {"completed", "failed"} if server.counts["duplicated"] else {"completed", "failed", "added"}
    for kind in exact - reader.partial:
        assert reader.seen[kind] + reader.made[kind] == server.counts[kind], kind
    if not reader.missed:
        assert not reader.partial
        assert not reader.made


def test_entries_up_to_the_base_are_not_counted() -> None:
    ledger = Ledger(Place(last=(5, 0), added=50, length=10, completed=3), (5, 0))
    read(ledger, entry(4, "completed"), entry(5, "completed"), entry(6, "completed"))
    assert ledger.look(Place(last=(6, 0), added=51, length=11, completed=4), (6, 0)) == Found()


def test_a_place_counts_when_all_before_it_is_read() -> None:
    ledger = Ledger(Place(last=(5, 0), added=50, length=10), (5, 0))
    ahead = Place(last=(9, 0), added=54, length=10)
    assert ledger.look(ahead, (5, 0)) == Found()
    assert ledger.waiting
    assert read(ledger, entry(8)) == Found()
    found = read(ledger, entry(9), entry(10))
    assert (found.missed, ledger.waiting, ledger.entries) == (2, False, 1)


def test_what_is_gone_before_the_end_is_not_waited_for() -> None:
    ledger = Ledger(Place(last=(5, 0), added=50, length=10), (5, 0))
    ledger.look(Place(last=(9, 0), added=54, length=0), (5, 0))
    assert ledger.read_all().missed == 4


def test_a_total_that_moved_while_we_looked_is_made_up_at_the_next_place() -> None:
    ledger = Ledger(Place(last=(1, 0), added=100, length=10, completed=20), (1, 0))
    unsure = Place(last=(9, 0), added=108, length=10, completed=None)
    assert ledger.look(unsure, (9, 0)).made_up == {}
    found = ledger.look(replace(unsure, completed=23), (9, 0))
    assert (found.missed, found.made_up) == (0, {"completed": 3})


@pytest.mark.parametrize(
    ("totals", "made_up", "partial"),
    [
        pytest.param(
            {"completed": 25, "failed": 4}, {"completed": 5, "failed": 4, "attempts_failed": 4}, (), id="kept"
        ),
        pytest.param({"completed": 0, "failed": 1}, {"failed": 1, "attempts_failed": 1}, ("completed",), id="not kept"),
        pytest.param({"completed": 19, "failed": 1}, {"failed": 1, "attempts_failed": 1}, ("completed",), id="fewer"),
    ],
)
def test_what_a_gap_makes_up(totals: Totals, made_up: dict[str, int], partial: tuple[str, ...]) -> None:
    ledger = Ledger(Place(last=(1, 0), added=100, length=10, completed=20, attempts=7), (1, 0))
    found = ledger.look(Place(last=(9, 0), added=120, length=10, attempts=7, **totals), (9, 0))
    assert found == Found(missed=20, made_up=made_up, partial=(*partial, *UNTOLD))


def test_a_total_that_is_still_0_may_be_one_that_is_not_kept() -> None:
    ledger = Ledger(Place(last=(1, 0), added=100, length=10), (1, 0))
    found = ledger.look(Place(last=(9, 0), added=120, length=10), (9, 0))
    assert found == Found(missed=20, partial=("completed", "failed", "added", *UNTOLD))


def test_added_is_partial_where_attempts_were_turned_away() -> None:
    ledger = ledger_from_nothing()
    read(ledger, entry(1, "added"), entry(2, "duplicated"))
    ledger.look(Place(last=(2, 0), added=2, length=2, attempts=2), (2, 0))
    found = ledger.look(Place(last=(9, 0), added=9, length=0, attempts=5), (9, 0))
    assert found.made_up == {"added": 3}
    assert "added" in found.partial


@pytest.mark.parametrize(
    ("place", "missed"),
    [
        pytest.param(Place(last=(6, 0), added=8, length=8), 0, id="begun anew, all retained"),
        pytest.param(Place(last=(9, 0), first=(2, 0), added=400, length=400), 0, id="begun anew, more than before"),
        pytest.param(Place(last=(9, 0), added=103, length=50, attempts=9), 0, id="a failover took entries back"),
        pytest.param(Place(last=(9, 0), added=90, length=50, attempts=2), 85, id="begun anew, and trimmed"),
    ],
)
def test_figures_that_speak_of_another_stream(place: Place, missed: int) -> None:
    ledger = Ledger(Place(last=(1, 0), added=100, length=50, attempts=9), (1, 0))
    read(ledger, *map(entry, range(2, 7)))
    assert ledger.look(place, (6, 0)).missed + ledger.read_all().missed == missed


OLD = Place(last=(5, 0), first=(1, 0), length=5, added=None, completed=2, attempts=4)


@pytest.mark.parametrize(
    ("first", "last", "missed"),
    [
        pytest.param((3, 0), (9, 0), 0, id="what was read last is retained"),
        pytest.param((6, 0), (9, 0), 3, id="the oldest is younger"),
        pytest.param(None, (9, 0), 3, id="nothing is retained"),
        pytest.param(None, (5, 0), 0, id="nothing is retained, and nothing was written"),
    ],
)
def test_before_redis_7_the_oldest_entry_tells(first: EntryId | None, last: EntryId, missed: int) -> None:
    ledger = Ledger(OLD, OLD.last)
    assert ledger.checks_each_read
    place = replace(OLD, last=last, first=first, completed=5)
    assert ledger.look(place, last).missed == missed


def test_before_redis_7_a_new_queue_has_lost_what_its_id_says() -> None:
    young = replace(OLD, attempts=2)
    for attempts, missed in ((2, 0), (6, 4)):
        ledger = ledger_from_nothing()
        read(ledger, entry(1, "added"), entry(2, "added"))
        assert ledger.look(replace(young, attempts=attempts, completed=0), (5, 0)).missed == missed


def test_a_ledger_goes_on_in_a_second_life() -> None:
    first = Ledger(Place(last=(1, 0), added=100, length=10, completed=20), (1, 0))
    read(first, entry(2, "completed"), entry(3))
    second = ledger_resumed((3, 0), first.added, first.totals)
    found = second.look(Place(last=(9, 0), added=105, length=10, completed=23), (9, 0))
    assert (found.missed, found.made_up) == (3, {"completed": 2})


def test_an_account_that_did_not_agree_is_not_believed() -> None:
    account = Account(base=10)
    account.seen = 5
    assert account.settle(12, gap=False) == 0
    assert account.settle(20, gap=True) is None
    account.seen = 4
    assert account.settle(24, gap=False) == 0
    assert account.settle(30, gap=True) == 6


def test_nowhere_is_before_everything() -> None:
    assert (NOWHERE.last, NOWHERE.added, NOWHERE.completed) == (START, 0, 0)
