"""Expositions are read strictly."""

from __future__ import annotations

import pytest

from rig.scrape import key, parse

TEXT = """\
# HELP bullmq_queue_jobs Jobs.
# TYPE bullmq_queue_jobs gauge
bullmq_queue_jobs{queue="ü \\"x\\"",state="waiting"} 3
# HELP bullmq_jobs_completed_total Done.
# TYPE bullmq_jobs_completed_total counter
bullmq_jobs_completed_total{queue="q"} 7
"""


def test_samples_by_name_and_labels() -> None:
    assert parse(TEXT) == {
        key("bullmq_queue_jobs", queue='ü "x"', state="waiting"): 3,
        key("bullmq_jobs_completed_total", queue="q"): 7,
    }


def test_a_series_that_is_there_twice_is_an_error() -> None:
    with pytest.raises(AssertionError, match="printed twice"):
        parse(TEXT + TEXT.splitlines()[-1] + "\n")
