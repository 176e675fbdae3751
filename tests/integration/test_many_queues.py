"""Five thousand queues: the exporter answers in time, and its memory stays that of a small process."""

from __future__ import annotations

import re

from rig.scrape import exporting
from rig.servers import running

QUEUES = 5_000
MOST_MEMORY = 400 << 20
TIMEOUT = 10
"""Prometheus's own default."""


def test_five_thousand_queues() -> None:
    with running() as server, server.client() as client:
        with client.pipeline(transaction=False) as pipe:
            for number in range(QUEUES):
                base = f"bull:queue {number}:"
                pipe.hset(f"{base}meta", mapping={"opts.maxLenEvents": 10_000, "version": "bullmq:6.7.0"})
                pipe.lpush(f"{base}wait", 1)
                pipe.hset(f"{base}1", mapping={"timestamp": 1, "opts": "{}", "data": "{}", "name": "job"})
            pipe.execute()
        with exporting("--redis.url", server.url) as exporter:
            answers = [exporter.get("/metrics", x_prometheus_scrape_timeout_seconds=f"{TIMEOUT}") for _ in range(2)]

    assert max(answer.elapsed.total_seconds() for answer in answers) < TIMEOUT
    for answer in answers:
        text = answer.text
        assert "\nbullmq_up 1.0\n" in text
        assert f"\nbullmq_queues {QUEUES}.0\n" in text
        assert len(re.findall(r'^bullmq_queue_jobs\{.*state="waiting"\} 1\.0$', text, re.MULTILINE)) == QUEUES
        assert not re.search(r"^bullmq_collector_success.* 0\.0$", text, re.MULTILINE)
        memory = re.search(r"^process_resident_memory_bytes (\S+)$", text, re.MULTILINE)
        assert memory is not None
        assert float(memory[1]) < MOST_MEMORY
