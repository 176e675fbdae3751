"""The exporter's own process."""

from __future__ import annotations

import sys

import pytest
from golden.printed import rows

from qobserve.metrics.process import process_samples


@pytest.mark.skipif(sys.platform != "linux", reason="prometheus_client reads /proc")
def test_the_process_tells_its_cpu_memory_and_files() -> None:
    samples = list(process_samples())

    assert {one.family.name: one.family.type for one in samples} == {
        "process_virtual_memory_bytes": "gauge",
        "process_resident_memory_bytes": "gauge",
        "process_start_time_seconds": "gauge",
        "process_cpu_seconds_total": "counter",
        "process_open_fds": "gauge",
        "process_max_fds": "gauge",
    }
    assert [labels for one in samples for labels, _ in rows(one)] == [""] * len(samples)
    assert all(value > 0 for one in samples for _, value in rows(one))
