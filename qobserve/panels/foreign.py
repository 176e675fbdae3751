"""Metrics that others make: Prometheus of each target, and prometheus_client of the exporter's process."""

from __future__ import annotations

from qobserve.metrics.family import Family

UP = Family("up", "gauge", "1 when Prometheus could scrape the target, 0 when not.", ())
SCRAPE_SECONDS = Family("scrape_duration_seconds", "gauge", "How long a scrape took, as Prometheus saw it.", ())
SCRAPE_SAMPLES = Family("scrape_samples_scraped", "gauge", "Samples that a scrape brought.", ())
OF_PROMETHEUS = (UP, SCRAPE_SECONDS, SCRAPE_SAMPLES)

CPU_SECONDS = Family("process_cpu_seconds_total", "counter", "CPU time of the exporter.", ())
MEMORY_BYTES = Family("process_resident_memory_bytes", "gauge", "Memory of the exporter.", ())
OPEN_FILES = Family("process_open_fds", "gauge", "Open file descriptors of the exporter.", ())
START_TIME = Family("process_start_time_seconds", "gauge", "When the exporter started, as a Unix timestamp.", ())
OF_PROCESS = (CPU_SECONDS, MEMORY_BYTES, OPEN_FILES, START_TIME)
