"""What a job's hash says on its card, and what it must never say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import hiredis
import pytest

from qobserve.model.keys import QueueId
from qobserve.model.questions import Question, Why
from qobserve.model.reply import Fault
from qobserve.model.run import Card
from qobserve.reader.cards import FIELDS, card_command, card_of, error_class

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

QUESTION = Question(queue=QueueId(b"bull", b"q"), job=b"repeat:x:1", why=Why.CARD)
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def reply(**fields: bytes) -> list[Reply]:
    return [fields.get(name.decode()) for name in FIELDS]


def asked(question: Question) -> list[bytes]:
    reader = hiredis.Reader()
    reader.feed(card_command(question))
    command: list[bytes] = reader.gets()
    return command


def test_neither_data_nor_results_are_asked_for() -> None:
    assert asked(QUESTION) == [b"HMGET", b"bull:q:repeat:x:1", *FIELDS]
    assert not {b"data", b"returnvalue", b"failedReason", b"stacktrace", b"progress"} & set(asked(QUESTION))


def test_the_stack_trace_is_read_only_for_the_class_of_the_error() -> None:
    question = Question(queue=QUESTION.queue, job=b"1", why=Why.OUTCOME, error=True)
    assert asked(question)[-1] == b"stacktrace"
    card = card_of([*reply(name=b"j"), json.dumps(["Error: first", "TypeError: secret\n    at f"]).encode()])
    assert card == Card(name="j", error="TypeError")


def test_a_whole_card() -> None:
    opts = {"attempts": 3, "delay": 500, "tm": json.dumps({"traceparent": PARENT, "tracestate": "a=1"}), "omc": True}
    card = card_of(
        reply(
            name=b"welcome",
            timestamp=b"1796035863000",
            opts=json.dumps(opts).encode(),
            parentKey=b"bull:p:9",
            rjk=b"hourly",
            pb=b"left",
            ats=b"2",
            atm=b"1",
            processedOn=b"1796035863500",
        )
    )
    assert card == Card(
        name="welcome",
        timestamp_ms=1796035863000,
        delay_ms=500,
        attempts=3,
        traceparent=PARENT,
        tracestate="a=1",
        omits_context=True,
        parent="bull:p:9",
        scheduler="hourly",
        worker="left",
        attempts_started=2,
        attempts_made=1,
        processed_ms=1796035863500,
    )


def test_attempts_of_bullmq_up_to_4() -> None:
    card = card_of(reply(name=b"j", attemptsMade=b"2"))
    assert card is not None
    assert (card.attempts_made, card.attempts_started) == (2, None)


@pytest.mark.parametrize("gone", [reply(), Fault("WRONGTYPE no"), None, b"text", [b"too short"], 3])
def test_a_hash_that_is_gone_has_no_card(gone: Reply) -> None:
    assert card_of(gone) is None


@pytest.mark.parametrize(
    "opts",
    [
        b"",
        b"{",
        b"[]",
        b"[" * 5_000,
        b'{"attempts":"3","delay":true,"tm":5}',
        b'{"delay":NaN}',
        b'{"tm":"{"}',
        b"x" * 99_999,
    ],
)
def test_junk_in_opts_reads_as_absent(opts: bytes) -> None:
    assert card_of(reply(name=b"j", opts=opts)) == Card(name="j")


def test_endless_names_and_numbers_are_cut() -> None:
    card = card_of(reply(name=b"n" * 9_999, opts=b'{"delay":1e400,"attempts":-4}', ats=b"9" * 30))
    assert card == Card(name="n" * 1_024, delay_ms=2**53)


PYTHON = (
    'Traceback (most recent call last):\n  File "worker.py", line 3, in process\n'
    "    raise shop.OutOfStockError('secret')\nshop.OutOfStockError: secret\n"
)

CHAINED = f"""{PYTHON}
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "worker.py", line 9, in process
    raise ValueError("secret\\nsecret")
ValueError: secret
secret
"""


@pytest.mark.parametrize(
    ("traces", "name"),
    [
        (["Error: told to fail\n    at behave (file:///x.mjs:1:1)"], "Error"),
        (["TypeError"], "TypeError"),
        ([PYTHON], "shop.OutOfStockError"),
        ([f"{PYTHON}secret\n"], "shop.OutOfStockError"),
        ([f"{PYTHON}\nTraceback (most recent call last):\nsecret: a\n"], "shop.OutOfStockError"),
        ([CHAINED], "ValueError"),
        (["NoneType: None\n"], None),
        (["secret"], None),
        (["Error: a", "UnrecoverableError: b"], "UnrecoverableError"),
        (["a whole sentence: with a colon"], None),
        (["alice_1985: wrong pin"], None),
        (["sk_live_51H8: refused\nError: x"], None),
        (["hunter2SECRET: m\n    at f"], None),
        ([PYTHON.replace("OutOfStockError", "OutOfStock")], None),
        ([PYTHON.replace("shop.OutOfStockError", "KeyboardInterrupt")], "KeyboardInterrupt"),
        ([PYTHON.replace("shop.OutOfStockError", "StopIteration")], "StopIteration"),
        (["RangeError [ERR_OUT_OF_RANGE]: The value of secret\n    at f"], "RangeError"),
        (["RangeError [secret one]: a"], None),
        (["DOMException [AbortError]: a"], "DOMException"),
        (["shop.OutOfStockError: only Python has modules"], None),
        (["ConnectTimeout: a"], "ConnectTimeout"),
        (["x" * 95 + "Error"], "x" * 95 + "Error"),
        (["x" * 96 + "Error"], None),
        ([""], None),
        ([5], None),
        ([], None),
        ({}, None),
    ],
)
def test_the_class_of_an_error_and_never_its_message(traces: object, name: str | None) -> None:
    assert error_class(json.dumps(traces).encode()) == name


@pytest.mark.parametrize("raw", [None, b"", b"[", b"[" * 5_000, b'"' + b"x" * (1 << 20) + b'"'])
def test_no_stack_trace_no_class(raw: bytes | None) -> None:
    assert error_class(raw) is None
