"""The fields of a job's hash, decoded: as BullMQ writes them, as junk, and as numbers beyond all measure."""

from __future__ import annotations

import json

import pytest

from qobserve.model.job import TIME_FIELDS, Backoff, JobTimes, ReadyAt, job_times, milliseconds_field, ready_at

NOW = 1796035293012
NEVER_RAN = [None, None, None, None, None, None]


def test_all_fields_are_read() -> None:
    opts = b'{"delay":250,"backoff":{"type":"fixed","delay":9,"jitter":0.5}}'

    assert (
        *(b"timestamp", b"processedOn", b"opts", b"atm", b"attemptsMade", b"stc", b"stalledCounter"),
        *(b"ats", b"priority"),
    ) == TIME_FIELDS
    assert job_times([b"1796035293012", b"1796035293500", opts, b"2", b"7", b"1", None, b"4", b"5"]) == JobTimes(
        timestamp=1796035293012,
        processed_on=1796035293500,
        attempts=2,
        delay_ms=250,
        backoff=Backoff(kind="fixed", delay_ms=9.0, jitter=0.5),
        stalled=True,
        starts=4,
        priority=5,
    )


@pytest.mark.parametrize(
    "opts",
    [
        None,
        b"",
        b"junk",
        b"[]",
        b"null",
        b"7",
        b'"text"',
        b"\xff\xfe",
        b'{"delay":"5","backoff":"5"}',
        b'{"delay":-5,"backoff":-5}',
        b'{"delay":true,"backoff":true}',
        b'{"delay":null,"backoff":null}',
        b'{"delay":NaN,"backoff":NaN}',
        b'{"delay":[1],"backoff":[1]}',
        b"[" * 60_000,
        b'{"delay":' + b"9" * 5000 + b"}",
        b'{"delay":5,"data":"' + b"x" * 65_536 + b'"}',  # what is larger is not read
    ],
    ids=lambda opts: repr(opts)[:30],
)
def test_options_that_are_junk_say_nothing(opts: bytes | None) -> None:
    assert job_times([b"1", None, opts, *NEVER_RAN]) == JobTimes(
        timestamp=1, processed_on=None, attempts=0, delay_ms=0, backoff=None, stalled=False, starts=0, priority=0
    )


@pytest.mark.parametrize("huge", ["1e300", "9" * 400, "Infinity", str(2**53)])
@pytest.mark.parametrize("attempts", ["1", "61", "1000000", "9" * 19])
@pytest.mark.parametrize("opts", ['{"delay":%s}', '{"backoff":%s}', '{"backoff":{"type":"exponential","delay":%s}}'])
def test_numbers_beyond_all_measure_end_in_the_far_future(huge: str, attempts: str, opts: str) -> None:
    times = job_times([b"1", b"1", (opts % huge).encode(), attempts.encode(), *NEVER_RAN[1:]])

    assert ready_at(times, NOW) is None


@pytest.mark.parametrize(
    ("jitter", "shortest"), [(0, 1000), (0.5, 500), (1, 0), (7, 0), (-1, 1000), ("much", 1000), (None, 1000)]
)
def test_jitter_can_only_shorten(jitter: object, shortest: int) -> None:
    opts = {"backoff": {"type": "fixed", "delay": 1000, "jitter": jitter}}
    backoff = job_times([b"1", None, json.dumps(opts).encode(), *NEVER_RAN]).backoff

    assert backoff is not None
    assert backoff.after(1) == shortest


@pytest.mark.parametrize(
    ("delay", "failures", "ms"), [(0.5, 1, 1), (1.5, 1, 2), (1.25, 1, 1), (0.25, 2, 1), (1000, 3, 4000)]
)
def test_an_exponential_backoff_is_rounded_as_javascript_rounds(delay: float, failures: int, ms: int) -> None:
    assert Backoff(kind="exponential", delay_ms=delay, jitter=0.0).after(failures) == ms


@pytest.mark.parametrize(
    ("raw", "moment"),
    [
        (b"1796035293012", NOW),
        (b"1796035281365.0007", 1796035281365),  # 4.18.3 writes fractions at times
        (b"1.796035293012e+12", NOW),
        (b"0", 0),
        (b"2366841600000", 2366841600000),
        (b"8640000000000000", 8_640_000_000_000_000),  # the last ms of JavaScript's clock
        (b"8640000000000001", None),
        (b"-1", None),
        (b"-1e308", None),
        (b"inf", None),
        (b"nan", None),
        (b"", None),
        (b"soon", None),
        (b"\xff", None),
        (None, None),
        (7, None),
    ],
)
def test_a_time_field(raw: bytes | None, moment: int | None) -> None:
    assert milliseconds_field(raw) == moment


@pytest.mark.parametrize("stalls", [{"stc": "1"}, {"stalledCounter": "2"}])
def test_a_job_that_has_stalled_is_not_given_a_back_off_that_nobody_knows_of(stalls: dict[str, str]) -> None:
    stored = {
        "timestamp": str(NOW - 9000),
        "processedOn": str(NOW - 5000),
        "opts": '{"backoff":{"type":"fixed","delay":3600000}}',
        "atm": "1",
        **stalls,
    }
    times = job_times([stored[name.decode()].encode() if name.decode() in stored else None for name in TIME_FIELDS])

    assert ready_at(times, NOW) == ReadyAt(ms=NOW - 5000, source="hash", exact=False)


@pytest.mark.parametrize(
    ("ran", "fresh"),
    [
        ({}, True),
        ({"ats": "0", "atm": "0", "stc": "0", "stalledCounter": "0", "attemptsMade": "0"}, True),
        ({"priority": "7"}, True),
        ({"processedOn": "0"}, False),
        ({"ats": "1"}, False),
        ({"atm": "1"}, False),
        ({"attemptsMade": "1"}, False),
        ({"stc": "1"}, False),
        ({"stalledCounter": "1"}, False),
    ],
)
def test_a_job_is_fresh_and_its_moment_exact_until_any_field_shows_that_it_ran(
    ran: dict[str, str],
    fresh: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    stored = {"timestamp": str(NOW - 9000), **ran}
    times = job_times([stored[name.decode()].encode() if name.decode() in stored else None for name in TIME_FIELDS])
    found = ready_at(times, NOW)

    assert times.fresh is fresh
    assert found == ReadyAt(ms=NOW - 9000, source="hash", exact=fresh)


@pytest.mark.parametrize("size", [40, 2000], ids=["remembered", "too large to be"])
def test_hashes_that_differ_in_one_field_are_told_apart(size: int) -> None:
    opts = b'{"delay":5,"a":"%b"}' % (b"x" * size)
    first = [b"1", b"2", opts, b"3", None, b"0", None, b"4", b"6"]
    others = [[*first[:place], b"9", *first[place + 1 :]] for place in (0, 1, 3, 5, 7, 8)]

    assert job_times(list(first)) == job_times(first)
    assert job_times(first) not in [job_times(other) for other in others]
