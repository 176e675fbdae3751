"""The exporter's own process."""

from __future__ import annotations

import sys

import pytest

from qobserve.metrics.process import process_samples


@pytest.mark.skipif(sys.platform != "linux", reason="prometheus_client reads /proc")
def test_the_process_tells_its_cpu_memory_and_files() -> None:
    samples = {one.family.name: (one.family.type, dict(one.rows)) for one in process_samples()}

    assert {name: kind for name, (kind, _) in samples.items()} == {
        "process_virtual_memory_bytes": "gauge",
        "process_resident_memory_bytes": "gauge",
        "process_start_time_seconds": "gauge",
        "process_cpu_seconds_total": "counter",
        "process_open_fds": "gauge",
        "process_max_fds": "gauge",
    }
    assert [name for name, (_, rows) in samples.items() if rows.keys() != {""} or not rows[""] > 0] == []
