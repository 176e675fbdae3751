"""The questions of the first round trip: in the order of the answers, and cheap whatever the backlog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.config import COLLECTOR_NAMES
from qobserve.model.keys import QueueId
from qobserve.model.reading import Answers, Meta
from qobserve.reader.questions import META_FIELDS, QUESTIONS, Windows, first_batch, level_probe

if TYPE_CHECKING:
    from qobserve.reader.questions import Question

QUEUE = QueueId(b"{a:b}", b"\xe6\x97\xa5 q")
WINDOWS = Windows(jobs=8, schedulers=20)

CONSTANT_TIME = {b"LLEN", b"ZCARD", b"GET", b"HGET", b"HMGET", b"PTTL", b"XINFO STREAM"}
AT_AN_END = {b"LINDEX", b"LRANGE", b"ZRANGE"}
"""O(1) or O(log n) at the ends of a list or set; in the middle of a list they are not."""

each_question = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)


def test_questions_are_in_the_order_of_the_answers() -> None:
    assert tuple(QUESTIONS) == Answers._fields


def test_fields_of_meta_are_in_the_order_of_their_names() -> None:
    assert dict(zip(Meta._fields, META_FIELDS, strict=True)) == {
        "events_limit": b"opts.maxLenEvents",
        "version": b"version",
        "paused": b"paused",
        "concurrency": b"concurrency",
        "limit_max": b"max",
        "limit_duration": b"duration",
    }


@each_question
def test_no_command_costs_more_when_there_are_more_jobs(question: Question) -> None:
    assert question.command in CONSTANT_TIME | AT_AN_END
    if question.command in AT_AN_END:
        numbers = [int(argument) for argument in question.arguments(WINDOWS) if argument != b"WITHSCORES"]
        first, last = (numbers * 2)[:2]
        assert first in {0, -1} or last == -1
        assert -20 <= first <= last <= 19 or last == -1 == -abs(last), "a fixed number of entries"
        assert (first >= 0) == (last >= 0), "both ends counted from the same end"
    if question.command == b"XINFO STREAM":
        assert question.arguments(WINDOWS) == (), "FULL costs as much as the stream is long"


@each_question
def test_each_question_is_asked_for_a_collector(question: Question) -> None:
    assert question.part in COLLECTOR_NAMES


def test_windows_bound_what_is_read() -> None:
    asked = {name: question.arguments(Windows(jobs=50, schedulers=7)) for name, question in QUESTIONS.items()}

    assert {name: arguments for name, arguments in asked.items() if arguments and name != "meta"} == {
        "wait_tail": (b"-50", b"-1"),
        "wait_head": (b"0",),
        "paused_tail": (b"-50", b"-1"),
        "active_tail": (b"-16", b"-1"),
        "prioritized_first": (b"0", b"49", b"WITHSCORES"),
        "delayed_first": (b"0", b"0", b"WITHSCORES"),
        "children_first": (b"0", b"0", b"WITHSCORES"),
        "completed_last": (b"-1", b"-1", b"WITHSCORES"),
        "failed_first": (b"0", b"0", b"WITHSCORES"),
        "failed_last": (b"-1", b"-1", b"WITHSCORES"),
        "completed_count": (b"count",),
        "failed_count": (b"count",),
        "schedulers_first": (b"0", b"6", b"WITHSCORES"),
    }


def test_every_question_names_a_key_that_bullmq_writes() -> None:
    assert {question.suffix for question in QUESTIONS.values()} == {
        b"wait",
        b"paused",
        b"active",
        b"prioritized",
        b"delayed",
        b"waiting-children",
        b"completed",
        b"failed",
        b"meta",
        b"id",
        b"metrics:completed",
        b"metrics:failed",
        b"events",
        b"limiter",
        b"repeat",
    }


def test_a_question_in_the_wires_form() -> None:
    packed = QUESTIONS["events"].packed(QUEUE, WINDOWS)

    assert packed == b"*3\r\n$5\r\nXINFO\r\n$6\r\nSTREAM\r\n$18\r\n{a:b}:\xe6\x97\xa5 q:events\r\n"


def test_a_batch_is_all_questions_in_their_order() -> None:
    questions = [question.packed(QUEUE, WINDOWS) for question in QUESTIONS.values()]

    assert first_batch(QUEUE, WINDOWS, None) == b"".join(questions)


@pytest.mark.parametrize(("after", "floor"), [(-1, b"0"), (0, b"4294967296"), (3, b"17179869184")])
def test_a_probe_asks_for_the_first_job_of_the_next_level(after: int, floor: bytes) -> None:
    words = level_probe(QueueId(b"bull", b"q"), after).split(b"\r\n")[2::2]

    assert words == [b"ZRANGEBYSCORE", b"bull:q:prioritized", floor, b"+inf", b"WITHSCORES", b"LIMIT", b"0", b"1"]


def test_schedulers_that_have_ended_are_left_out() -> None:
    words = first_batch(QUEUE, WINDOWS, b"17").split(b"\r\n")[2::2]

    assert words[-8:] == [b"ZRANGEBYSCORE", QUEUE.key(b"repeat"), b"(17", b"+inf", b"WITHSCORES", b"LIMIT", b"0", b"20"]
