"""Failures of telemetry are told of once, and go no further."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from opentelemetry import context as contexts
from opentelemetry.instrumentation.utils import suppress_instrumentation

from qobserve.tracing import instrumentor_shield
from qobserve.tracing.instrumentor_shield import attached, detached, enabled, shielded

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def untold(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has just begun."""
    monkeypatch.setattr(instrumentor_shield, "_told", set())


def failing(error: BaseException) -> Callable[[], None]:
    @shielded
    def start() -> None:
        raise error

    return start


def test_what_works_is_not_changed() -> None:
    assert shielded(divmod)(7, 2) == (3, 1)


def test_a_failure_is_told_of_once_for_each_kind(caplog: pytest.LogCaptureFixture) -> None:
    for error in (KeyError("secret"), KeyError("secret"), OSError("secret"), KeyError("secret")):
        assert failing(error)() is None  # type: ignore[func-returns-value]  # which is the point
    told = [(vars(record)["step"], vars(record)["error"], record.levelname) for record in caplog.records]
    assert told == [("start", "KeyError", "WARNING"), ("start", "OSError", "WARNING")]
    assert "secret" not in caplog.text


def test_telling_has_an_end(caplog: pytest.LogCaptureFixture) -> None:
    for n in range(150):
        failing(type(f"Error{n}", (Exception,), {})())()
    assert len(caplog.records) == 100


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), asyncio.CancelledError()])
def test_what_is_no_failure_goes_through(error: BaseException) -> None:
    with pytest.raises(type(error)):
        failing(error)()


def test_contexts_come_and_go() -> None:
    key = contexts.create_key("test")
    token = attached(contexts.set_value(key, 1))
    assert contexts.get_value(key) == 1
    detached(token)
    assert contexts.get_value(key) is None
    detached(None)


def test_enabled_unless_suppressed() -> None:
    assert enabled()
    with suppress_instrumentation():
        assert not enabled()
