"""One entry of the event stream, taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.model.recordings import VERSIONS, entries, scenarios

from qobserve.model.event import Event, decode

if TYPE_CHECKING:
    from qobserve.model.reply import Reply


def entry(*words: str, identity: str = "1796056402184-3") -> Reply:
    return [identity.encode(), [word.encode() for word in words]]


def event(kind: str, **fields: object) -> Event:
    return Event(1796056402184, 3, kind, **fields)  # type: ignore[arg-type]  # each test names the right ones


JOB = {"job": "7", "raw": b"7"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("event", "added", "jobId", "7", "name", "mail"), event("added", **JOB, name="mail")),
        (("event", "waiting", "jobId", "7"), event("waiting", **JOB)),
        (("event", "waiting", "jobId", "7", "prev", "active"), event("waiting", **JOB, prev="active")),
        (("event", "delayed", "jobId", "7", "delay", "1796056502184"), event("delayed", **JOB, delay_ms=1796056502184)),
        (
            ("event", "delayed", "jobId", "7", "delay", "1796056402810.0002"),
            event("delayed", **JOB, delay_ms=1796056402810),
        ),
        (("event", "delayed", "jobId", "7", "delay", "soon"), event("delayed", **JOB)),
        (("event", "delayed", "jobId", "7"), event("delayed", **JOB)),
        (
            ("event", "completed", "jobId", "7", "returnvalue", "x", "prev", "active"),
            event("completed", **JOB, prev="active"),
        ),
        (
            ("event", "failed", "jobId", "7", "prev", "active", "failedReason", "no"),
            event("failed", **JOB, prev="active"),
        ),
        (
            ("event", "retries-exhausted", "jobId", "7", "attemptsMade", "3"),
            event("retries-exhausted", **JOB, attempts_made=3),
        ),
        (("event", "retries-exhausted", "jobId", "7", "attemptsMade", "-3"), event("retries-exhausted", **JOB)),
        (("event", "cleaned", "count", "12"), event("cleaned", count=12)),
        (("event", "drained"), event("drained")),
        (("event", "paused"), event("paused")),
        (
            ("event", "deduplicated", "jobId", "7", "deduplicationId", "d", "deduplicatedJobId", "8"),
            event("deduplicated", **JOB, other="8"),
        ),
        (("event", "note", "count", "x", "delay", "y"), event("note")),
        (("event", "note", "what", "ever", "jobId", "7"), event("note", **JOB)),
        (("event", "note", "name", "prev", "prev", "name"), event("note", name="prev", prev="name")),
    ],
)
def test_what_an_entry_says(words: tuple[str, ...], expected: Event) -> None:
    assert decode(entry(*words)) == expected


def test_fields_may_come_in_any_order() -> None:
    usual = decode(entry("event", "waiting", "jobId", "7", "prev", "delayed"))
    assert usual == event("waiting", **JOB, prev="delayed")
    assert decode(entry("jobId", "7", "prev", "delayed", "event", "waiting")) == usual
    assert decode(entry("event", "waiting", "prev", "delayed", "jobId", "7")) == usual
    assert decode(entry("name", "mail", "jobId", "7", "event", "added")) == event("added", **JOB, name="mail")


@pytest.mark.parametrize("raw", [b"a:b:\xc3\xbc", b"repeat:tick:1796056402184", b"\xff\x00", b"\\xff", b""])
def test_an_id_is_kept_as_it_is_and_told_so_that_nobody_fails(raw: bytes) -> None:
    decoded = decode([b"1-0", [b"event", b"active", b"jobId", raw]])
    assert decoded is not None
    assert decoded.raw == raw
    assert decoded.job == raw.decode("utf-8", "backslashreplace")


@pytest.mark.parametrize(
    "reply",
    [
        None,
        7,
        b"1-0",
        [],
        [b"1-0"],
        [b"1-0", None],
        [b"1-0", []],
        [b"1-0", b"event"],
        [b"1-0", [b"event"]],
        [b"1-0", [b"jobId", b"7"]],
        [b"1-0", [b"event", None]],
        [b"1-0", [b"event", b"active", b"jobId", None]],
        [b"1-0", [b"event", b"active", b"jobId", b"7", b"prev", 7]],
        [b"1-0", [b"event", b"active", b"jobId", b"7", b"prev"]],
        [b"soon-0", [b"event", b"active", b"jobId", b"7"]],
        [b"1", [b"event", b"active", b"jobId", b"7"]],
        [7, [b"event", b"active", b"jobId", b"7"]],
        [b"1-0", [[b"event"], b"active"]],
        [b"1-0", [b"event", b"active"], b"more"],
    ],
)
def test_what_is_no_entry_is_none(reply: Reply) -> None:
    assert decode(reply) is None


replies = st.recursive(
    st.none()
    | st.integers()
    | st.binary(max_size=8)
    | st.sampled_from([b"event", b"jobId", b"1-0", b"delayed", b"delay"]),
    lambda part: st.lists(part, max_size=6),
)


@given(replies)
def test_nothing_makes_it_fail(reply: Reply) -> None:
    assert isinstance(decode(reply), Event | None)


@pytest.mark.parametrize("version", VERSIONS)
def test_everything_that_was_recorded_is_understood(version: str) -> None:
    for scenario in scenarios(version):
        for one in entries(version, scenario):
            decoded = decode(one)
            assert decoded is not None
            assert isinstance(one, list)
            assert one[0] == f"{decoded.ms}-{decoded.seq}".encode()


def test_words_return_as_one_string_but_only_short_ones_are_kept() -> None:
    def name(word: str) -> str | None:
        decoded = decode(entry("event", "added", "jobId", "7", "name", word))
        return None if decoded is None else decoded.name

    assert name("welcome-mail") is name("welcome-mail")
    long = "x" * 1000
    assert name(long) == long
    assert name(long) is not name(long)
