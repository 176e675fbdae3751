"""The text is prometheus_client's, byte for byte, whatever the samples; and who gets which format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from qobserve.metrics.exposition import OPENMETRICS, TEXT, negotiate, render
from qobserve.metrics.family import Family, labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from qobserve.metrics.family import Samples

Row = tuple[dict[str, str], float]
Told = tuple[str, str, list[Row]]

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)
PROMETHEUS_3_NATIVE = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6," + PROMETHEUS_3
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=9) | st.text('\\"\n\r{},=# ', max_size=9)
VALUES = st.one_of(
    st.integers(0, 2_000_000),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.floats(0, 1),
    st.sampled_from([999_999, 1_000_000, 1_000_001, 999_999.0, 1e6, 123456789.0, 1e16, 1e21, 1e22, 5e-324, -0.0, 0]),
)
NAMES = st.lists(st.sampled_from(["a", "aa", "_b", "prefix", "queue", "state", "x9"]), max_size=4, unique=True)


def rows_of(names: list[str]) -> st.SearchStrategy[list[Row]]:
    labelled = st.fixed_dictionaries(dict.fromkeys(names, TEXTS))
    return st.lists(st.tuples(labelled, VALUES), min_size=1, max_size=4)


FAMILIES = st.lists(st.tuples(st.sampled_from(["gauge", "counter"]), TEXTS, NAMES.flatmap(rows_of)), max_size=3)


class Theirs:
    """The same families as prometheus_client's own objects."""

    def __init__(self, told: Iterable[Told]) -> None:
        self._told = list(told)

    def collect(self) -> Iterator[Metric]:
        for number, (kind, help_, rows) in enumerate(self._told):
            metric = Metric(f"bullmq_{number}", help_, kind)
            for labelled, value in rows:
                metric.add_sample(_name(number, kind), labelled, value)
            yield metric


def ours(told: Iterable[Told]) -> Iterator[Samples]:
    for number, (kind, help_, rows) in enumerate(told):
        names = tuple(sorted(rows[0][0]))
        family = Family(_name(number, kind), kind, help_, names)  # type: ignore[arg-type]  # a word drawn from the two
        yield family.samples((labels(**labelled), value) for labelled, value in rows)


def _name(number: int, kind: str) -> str:
    return f"bullmq_{number}_total" if kind == "counter" else f"bullmq_{number}"


@given(FAMILIES)
@example([("counter", 'A "help"\\ with\nall.', [({"b": "1", "a": '\\"\n'}, 999_999), ({"b": "", "a": ""}, 10**6)])])
def test_both_formats_are_as_prometheus_client_prints_them(told: list[Told]) -> None:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Theirs(told))

    assert render(ours(told), TEXT) == generate_latest(registry)
    assert render(ours(told), OPENMETRICS) == openmetrics.generate_latest(registry)


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (0, b"0.0"),
        (7, b"7.0"),
        (-1, b"-1.0"),
        (-(10**17), b"-1e+17"),
        (999_999, b"999999.0"),
        (1_000_000, b"1e+06"),
        (12_345_678, b"1.2345678e+07"),
        (2**53 + 2, b"9.007199254740994e+15"),
        (0.25, b"0.25"),
        (1796035293.012, b"1.796035293012e+09"),
        (1e-7, b"1e-07"),
    ],
)
def test_numbers(value: float, printed: bytes) -> None:
    bare, labelled = Family("bullmq_x", "gauge", "X.", ()), Family("bullmq_y", "gauge", "Y.", ("a",))
    lines = render([bare.samples([("", value)]), labelled.samples([('a="b"', value)])], TEXT).splitlines()

    assert (lines[2], lines[5]) == (b"bullmq_x " + printed, b'bullmq_y{a="b"} ' + printed)


@pytest.mark.parametrize(("content_type", "page"), [(TEXT, b""), (OPENMETRICS, b"# EOF\n")])
def test_a_family_without_samples_is_left_out(content_type: str, page: bytes) -> None:
    assert render([Family("bullmq_x", "gauge", "X.").samples(())], content_type) == page
    assert render([], content_type) == page


def test_the_content_types_are_the_ones_that_prometheus_knows() -> None:
    assert TEXT == "text/plain; version=0.0.4; charset=utf-8"
    assert OPENMETRICS == "application/openmetrics-text; version=1.0.0; charset=utf-8"


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        pytest.param(PROMETHEUS_2, OPENMETRICS, id="prometheus 2.42"),
        pytest.param(PROMETHEUS_3, OPENMETRICS, id="prometheus 3"),
        pytest.param(PROMETHEUS_3_NATIVE, OPENMETRICS, id="prometheus 3, native histograms"),
        pytest.param("application/openmetrics-text", OPENMETRICS, id="any version"),
        pytest.param("application/openmetrics-text; version=1.0.0; charset=utf-8", OPENMETRICS, id="with spaces"),
        pytest.param("text/html,application/openmetrics-text;version=1.0.0", OPENMETRICS, id="not the first"),
        pytest.param("application/openmetrics-text;version=0.0.1", TEXT, id="only the old version"),
        pytest.param("application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5", TEXT, id="2.0 - 2.4"),
        pytest.param("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", TEXT, id="classic"),
        pytest.param("*/*", TEXT, id="curl"),
        pytest.param("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", TEXT, id="browser"),
        pytest.param("", TEXT, id="none"),
        pytest.param("application/openmetrics-text;q=0,text/plain", TEXT, id="refused"),
        pytest.param("application/openmetrics-text;version=abc", TEXT, id="version is a word"),
        pytest.param("text/plain;version=x", TEXT, id="text version is a word"),
        pytest.param("text/plain;version=" + "1" * 5000, TEXT, id="version is very long"),
        pytest.param(";;;,,,===", TEXT, id="punctuation"),
        pytest.param("\x00\xff日本", TEXT, id="garbage"),
    ],
)
def test_who_gets_which_format(accept: str, content_type: str) -> None:
    assert negotiate(accept) == content_type


PARTS = st.tuples(
    st.sampled_from(["application/openmetrics-text", "text/plain", "*/*", ""]),
    st.sampled_from(["", ";version=", ";q=", "; version = ", ";escaping=", ";"]),
    st.text(max_size=5) | st.sampled_from(["1.0.0", "0.0.4", "2.0.0", "1.0.0-rc", "0", "0.5", "nan", "9" * 5000]),
)


@given(st.text() | st.lists(PARTS.map("".join), max_size=3).map(",".join))
def test_no_header_is_an_error(accept: str) -> None:
    assert negotiate(accept) in {TEXT, OPENMETRICS}
