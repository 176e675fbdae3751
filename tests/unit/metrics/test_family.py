"""Labels as they are printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from qobserve.metrics.family import Family, label, labels, queue_labels
from qobserve.model.keys import QueueId

JOBS = Family("bullmq_queue_jobs", "gauge", "Jobs.")


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("plain", 'x="plain"'),
        ("", 'x=""'),
        ('say "no"', r'x="say \"no\""'),
        ("a\\b", r'x="a\\b"'),
        ("a\nb", r'x="a\nb"'),
        (r"a\nb", r'x="a\\nb"'),
        ('\\"\n', r'x="\\\"\n"'),
        ("日本 }{,=#", 'x="日本 }{,=#"'),
    ],
)
def test_a_label_is_escaped(value: str, printed: str) -> None:
    assert label("x", value) == printed


def test_labels_are_sorted_by_name() -> None:
    assert labels(b="2", a="1", aa="3") == 'a="1",aa="3",b="2"'


def test_a_queues_labels_are_those_of_its_family() -> None:
    assert queue_labels(QueueId(b"a:b", b'"\xff')) == r'prefix="a:b",queue="\"\\xff"'


@given(prefix=st.binary(), name=st.binary())
def test_any_name_is_read_back_as_it_is(prefix: bytes, name: bytes) -> None:
    queue = QueueId(prefix, name)
    # prometheus_client's parser parts lines at every line feed, and reads a carriage return before one as part of it.
    (family,) = text_string_to_metric_families(f"bullmq_queue_jobs{{{queue_labels(queue)}}} 1\n")

    assert family.samples[0].labels == {"prefix": queue.prefix, "queue": queue.name}


def test_rows_are_printed_in_their_order_as_one_block() -> None:
    samples = JOBS.samples(iter([('b="1"', 1), ("", 2.5)]))

    assert samples.family is JOBS
    assert samples.blocks == ('bullmq_queue_jobs{b="1"} 1.0\nbullmq_queue_jobs 2.5\n',)
    assert JOBS.samples(()).blocks == ("",)
