"""What the demo reads out of /metrics."""

from __future__ import annotations

from qobserve.demo.page import Page, QueueRow, read_page

PAGE = """\
# TYPE bullmq_up gauge
bullmq_up 1.0
# TYPE bullmq_scrape_duration_seconds gauge
bullmq_scrape_duration_seconds 0.0125
# TYPE bullmq_queue_jobs gauge
bullmq_queue_jobs{prefix="bull",queue="a",state="waiting"} 3.0
bullmq_queue_jobs{prefix="bull",queue="a",state="prioritized"} 2.0
bullmq_queue_jobs{prefix="bull",queue="b",state="waiting"} 0.0
# TYPE bullmq_queue_oldest_job_age_seconds gauge
bullmq_queue_oldest_job_age_seconds{prefix="bull",queue="a",state="waiting"} 1.5
bullmq_queue_oldest_job_age_seconds{prefix="bull",queue="a",state="prioritized"} 9.25
bullmq_queue_oldest_job_age_seconds{prefix="bull",queue="a",state="failed"} 500.0
# TYPE bullmq_queue_workers gauge
bullmq_queue_workers{prefix="bull",queue="a"} 0.0
# TYPE bullmq_queue_blocked gauge
bullmq_queue_blocked{prefix="bull",queue="a",reason="paused"} 1.0
bullmq_queue_blocked{prefix="bull",queue="a",reason="rate_limited"} 0.0
bullmq_queue_blocked{prefix="bull",queue="a",reason="no_workers"} 1.0
"""


def test_a_page_becomes_rows() -> None:
    assert read_page(PAGE) == Page(
        seconds=0.0125,
        rows={
            "a": QueueRow(
                jobs={"waiting": 3, "prioritized": 2},
                ages={"waiting": 1.5, "prioritized": 9.25, "failed": 500.0},
                workers=0,
                blocked=("paused", "no_workers"),
            ),
            "b": QueueRow(jobs={"waiting": 0}),
        },
    )


def test_an_empty_page_has_no_rows() -> None:
    assert read_page("") == Page()


def test_the_oldest_waiting_job_is_over_both_states_that_a_worker_takes_from() -> None:
    row = read_page(PAGE).rows["a"]
    assert row.oldest_waiting == 9.25


def test_an_age_that_the_page_does_not_say_is_unknown() -> None:
    assert read_page(PAGE).rows["b"].oldest_waiting is None
