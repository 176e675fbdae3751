"""Log lines in both forms: one line each, whatever is in them."""

from __future__ import annotations

import io
import json
import logging
from typing import TYPE_CHECKING

import pytest

from qobserve import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_log = logging.getLogger("qobserve.test")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root, package = logging.getLogger(), logging.getLogger("qobserve")
    before = (root.handlers[:], root.level, package.level, logging.raiseExceptions)
    yield
    root.handlers[:], root.level, package.level, logging.raiseExceptions = before
    package.setLevel(before[2])


def configured(level: logs.Level, form: logs.Format) -> Callable[[], list[str]]:
    stream = io.StringIO()
    logs.configure(level, form, stream)
    return lambda: stream.getvalue().split("\n")[:-1]


def without_time(line: str) -> str:
    time, _, rest = line.partition(" ")
    assert time.startswith("time=20")
    assert time.endswith("Z")
    return rest


def test_logfmt_quotes_what_needs_it() -> None:
    lines = configured("info", "logfmt")
    facts = {"target": "eu", "error": 'said "no"', "n": 3, "age": 0.5, "on": True}
    _log.warning("redis is gone", extra=facts | {"empty": "", "none": None, "queue": "日本"})
    assert [without_time(line) for line in lines()] == [
        (
            'level=warning logger=qobserve.test msg="redis is gone" target=eu error="said \\"no\\"" n=3 age=0.5 '
            'on=true empty="" queue=日本'
        )
    ]


def test_json_has_the_same_fields() -> None:
    lines = configured("info", "json")
    _log.warning("gone", extra={"target": "eu", "n": 3, "path": io})
    (line,) = lines()
    fields = json.loads(line)
    assert list(fields) == ["time", "level", "logger", "msg", "target", "n", "path"]
    assert (fields["level"], fields["msg"], fields["n"], fields["path"]) == ("warning", "gone", 3, str(io))


@pytest.mark.parametrize("form", ["logfmt", "json"])
@pytest.mark.parametrize("text", ["a\nb", "a\r\x1b[31mb", "\u2028", "\x85", "\ud800", "\U000e0001", "a\\b", "a=b"])
def test_no_text_leaves_its_line_or_moves_the_cursor(form: logs.Format, text: str) -> None:
    lines = configured("info", form)
    _log.info("x", extra={"queue": text})
    (line,) = lines()
    assert line.isprintable()
    value = json.loads(line)["queue"] if form == "json" else json.loads(line.partition("queue=")[2])
    assert value == text


def test_less_severe_messages_are_left_out() -> None:
    lines = configured("warning", "logfmt")
    _log.info("detail")
    _log.warning("trouble")
    logging.getLogger("other").info("detail of a library")
    logging.getLogger("other").warning("trouble of a library")
    assert [line.partition("msg=")[2] for line in lines()] == ["trouble", '"trouble of a library"']


@pytest.mark.parametrize(("level", "shown"), [("info", False), ("debug", True)])
def test_a_traceback_appears_in_debug_only(level: logs.Level, shown: bool) -> None:  # noqa: FBT001 - a parameter of the test
    lines = configured(level, "logfmt")
    try:
        _ = 1 / 0
    except ZeroDivisionError:
        _log.exception("internal error")
    (line,) = lines()
    assert 'error="ZeroDivisionError: division by zero"' in line
    assert ("Traceback" in line) is shown


def test_configuring_again_replaces_the_handler() -> None:
    configured("info", "logfmt")
    lines = configured("info", "logfmt")
    _log.info("once")
    assert len(lines()) == 1
