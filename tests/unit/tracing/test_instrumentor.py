"""How the instrumentation is set, and what it asks for; what it does is seen on a real server."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from opentelemetry.instrumentation.dependencies import get_dependency_conflicts
from repo.tree import ROOT

from qobserve.tracing import instrumentor as module
from qobserve.tracing.instrumentor import BullMQInstrumentor

PAGE = (ROOT / "docs/instrumentation.md").read_text()


def relation(**given: object) -> str:
    instrumentor = BullMQInstrumentor()
    instrumentor.instrument(**given)
    try:
        return str(instrumentor.relation)
    finally:
        instrumentor.uninstrument()


@pytest.mark.parametrize(
    ("variable", "given", "expected"),
    [
        (None, {}, "link"),
        ("", {}, "link"),
        (" Parent ", {}, "parent"),
        ("link", {"relation": "parent"}, "parent"),
        ("parent", {"relation": "link"}, "link"),
    ],
)
def test_the_relation(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, given: dict[str, object], expected: str
) -> None:
    monkeypatch.delenv("OTEL_PYTHON_BULLMQ_RELATION", raising=False)
    if variable is not None:
        monkeypatch.setenv("OTEL_PYTHON_BULLMQ_RELATION", variable)
    assert relation(**given) == expected


def test_a_wrong_variable_is_told_of_and_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_PYTHON_BULLMQ_RELATION", "sibling")
    assert relation() == "link"
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("qobserve.tracing", "WARNING")
    assert vars(record)["value"] == "sibling"


def test_a_wrong_argument_is_refused() -> None:
    with pytest.raises(ValueError, match="sibling"):
        BullMQInstrumentor().instrument(relation="sibling")
    assert not BullMQInstrumentor().is_instrumented_by_opentelemetry
    assert relation() == "link"


def test_the_library_that_is_installed_is_the_one_that_is_asked_for() -> None:
    assert get_dependency_conflicts(BullMQInstrumentor().instrumentation_dependencies()) is None


def test_it_is_found_by_its_name() -> None:
    (found,) = entry_points(group="opentelemetry_instrumentor", name="bullmq")
    assert found.load() is BullMQInstrumentor


def test_it_can_be_loaded_where_the_library_is_missing() -> None:
    program = """
import sys
sys.modules["bullmq"] = None
from qobserve.tracing.instrumentor import BullMQInstrumentor
try:
    BullMQInstrumentor().instrument(skip_dep_check=True)
except ModuleNotFoundError:  # which opentelemetry-instrument takes for "not needed"
    print("missing")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "missing\n"


def test_the_page_shows_how_it_is_switched_on() -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    exec(example, {})  # noqa: S102  # the page's own words, from this tree
    assert BullMQInstrumentor().is_instrumented_by_opentelemetry
    BullMQInstrumentor().uninstrument()


def test_the_page_names_the_variables() -> None:
    assert set(re.findall(r"OTEL_PYTHON_BULLMQ_\w+", PAGE)) == {
        value for value in vars(module).values() if isinstance(value, str) and value.startswith("OTEL_PYTHON_BULLMQ_")
    }
