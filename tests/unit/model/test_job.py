"""Since when a job has been ready, by its hash alone: against an oracle of its own, and with what BullMQ writes."""

from __future__ import annotations

import json
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, TypeAlias

from hypothesis import example, given
from hypothesis import strategies as st

from qobserve.model.job import TIME_FIELDS, ReadyAt, job_times, ready_at

if TYPE_CHECKING:
    from collections.abc import Mapping

Option: TypeAlias = "int | float | str | dict[str, str | int | float]"
NOW = 1796035293012
HOUR = 3_600_000
CLOCK_SLACK_MS = 1000


def fields(hash_: Mapping[str, str]) -> list[bytes | None]:
    """A hash as HMGET answers it."""
    return [hash_[name.decode()].encode() if name.decode() in hash_ else None for name in TIME_FIELDS]


def since(now_ms: int = NOW, **hash_: object) -> ReadyAt | None:
    """When a job with this hash was ready; options are given as values."""
    texts = {name: json.dumps(value) if name == "opts" else str(value) for name, value in hash_.items()}
    return ready_at(job_times(fields(texts)), now_ms)


def hash_of(ms: int, *, exact: bool) -> ReadyAt:
    return ReadyAt(ms=ms, source="hash", exact=exact)


# The oracle: the definition in whole numbers and fractions, with BullMQ's own rules for back-offs.


def shortest_backoff(option: Option | None, failures: int) -> int:
    if option is None or failures < 1:
        return 0
    told = option if isinstance(option, dict) else {"type": "fixed", "delay": option}
    if told["type"] not in {"fixed", "exponential"}:
        return 0
    longest = Fraction(told["delay"])
    if told["type"] == "exponential":
        longest = Fraction(floor(2 ** (failures - 1) * longest + Fraction(1, 2)))
    return floor(longest * (1 - Fraction(told.get("jitter", 0))))


def expected(timestamp: int, started: int | None, failures: int, delay: int, backoff: Option | None) -> ReadyAt | None:
    waits = {"delay": (timestamp + delay, delay)}
    if started is not None:
        pause = shortest_backoff(backoff, failures)
        waits["backoff"] = (started + pause, pause)
    latest = max(moment for moment, _ in waits.values())
    # A job that ran has its delay behind it, so that its back-off decides where both end at once.
    pause = next(pause for moment, pause in reversed(waits.values()) if moment == latest)
    by_hand = pause > 0 and latest - NOW > CLOCK_SLACK_MS
    return None if by_hand else hash_of(latest, exact=started is None and not failures)


DELAYS = st.one_of(st.just(0), st.integers(1, 10 * HOUR))
BACKOFFS = st.one_of(
    st.none(),
    st.integers(1, HOUR),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["fixed", "exponential", "custom"]), "delay": st.integers(0, HOUR)},
        optional={"jitter": st.sampled_from([0, 0.25, 0.5, 0.75, 1])},
    ),
)
MOMENTS = st.one_of(st.integers(NOW - 10 * HOUR, NOW + HOUR), st.integers(NOW - 3000, NOW + 3000))


@given(
    timestamp=MOMENTS,
    started=st.none() | MOMENTS,
    failures=st.integers(0, 12),
    delay=DELAYS,
    backoff=BACKOFFS,
    counted=st.sampled_from(["atm", "attemptsMade"]),
)
@example(timestamp=NOW - 5000, started=NOW - 5000, failures=1, delay=0, backoff=5000, counted="atm")
@example(timestamp=NOW, started=NOW + 5000, failures=0, delay=5000, backoff=None, counted="atm")
@example(timestamp=NOW - 1000, started=None, failures=0, delay=2000, backoff=None, counted="atm")
@example(timestamp=NOW - 1000, started=None, failures=0, delay=2001, backoff=None, counted="atm")
def test_the_fallback_follows_the_definition(  # noqa: PLR0913 - each is one thing that a hash tells
    *, timestamp: int, started: int | None, failures: int, delay: int, backoff: Option | None, counted: str
) -> None:
    opts = {"attempts": 20, "delay": delay} | ({} if backoff is None else {"backoff": backoff})
    ran = {} if started is None else {"processedOn": started}

    found = since(timestamp=timestamp, opts=opts, **{counted: failures}, **ran)

    assert found == expected(timestamp, started, failures, delay, backoff)


@given(st.lists(st.none() | st.binary(max_size=40), min_size=len(TIME_FIELDS), max_size=len(TIME_FIELDS)))
def test_junk_in_every_field_never_fails(raw: list[bytes | None]) -> None:
    found = ready_at(job_times(raw), NOW)

    assert found is None or abs(found.ms) <= 2**54


def test_a_plain_job_is_ready_when_it_was_added() -> None:
    assert since(timestamp=NOW - 90_000, opts={"attempts": 0}) == hash_of(NOW - 90_000, exact=True)


def test_a_delayed_job_is_ready_when_its_delay_is_over() -> None:
    assert since(timestamp=NOW - HOUR, opts={"delay": HOUR - 2000}, delay=0) == hash_of(NOW - 2000, exact=True)


def test_a_job_promoted_by_hand_has_no_known_moment() -> None:
    assert since(timestamp=NOW - 1000, opts={"delay": HOUR}) is None


def test_a_job_back_from_a_one_hour_backoff_is_seconds_old() -> None:
    backoff = {"type": "exponential", "delay": HOUR // 2}

    found = since(timestamp=NOW - 5 * HOUR, processedOn=NOW - HOUR - 3000, atm=2, opts={"backoff": backoff})

    assert found == hash_of(NOW - 3000, exact=False)


def test_attempts_of_4_x_count_as_well() -> None:
    found = since(
        timestamp=NOW - HOUR, processedOn=NOW - 5000, attemptsMade=3, opts={"backoff": {"type": "fixed", "delay": 4000}}
    )

    assert found == hash_of(NOW - 1000, exact=False)


def test_a_backoff_of_the_applications_own_counts_as_none() -> None:
    found = since(
        timestamp=NOW - HOUR, processedOn=NOW - 5000, atm=1, opts={"backoff": {"type": "mine", "delay": 4000}}
    )

    assert found == hash_of(NOW - 5000, exact=False)


def test_a_stalled_job_is_ready_since_it_started_at_the_earliest() -> None:
    found = since(timestamp=NOW - HOUR, processedOn=NOW - 61_000, opts={"backoff": {"type": "fixed", "delay": HOUR}})

    assert found == hash_of(NOW - 61_000, exact=False)


def test_without_a_timestamp_nothing_is_known() -> None:
    assert since(processedOn=NOW - 5000, opts={}) is None


def test_a_producer_whose_clock_is_ahead_is_not_taken_for_a_promotion() -> None:
    assert since(timestamp=NOW + HOUR, opts={}) == hash_of(NOW + HOUR, exact=True)
