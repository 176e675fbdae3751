"""Queue names that try every parser: the exposition stays whole, and Prometheus stores each under its name."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from rig.child import Child, wait_until
from rig.log import failed_collectors, scrape
from rig.programs import missing
from rig.scrape import exporting, key
from rig.servers import free_port, running
from rig.specimen import plant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rig.scrape import Exporter

CONTROL = [f"control {chr(code)} character" for code in (*range(32), 127, 0x85, 0x9B)]
TEXTS = [
    *CONTROL, 'a"b', '"', "\\", "\\\\", "\\n", '\\"', "a\nb", "{", "}", "a{b}c", "a,b", ",", 'le="0.5"', '",le="+Inf',
    "# HELP x y",
    "# EOF", "a b", " ", "  ", "\u00a0", "\u200b", "\u2028", "\u202eabc", "مرحبا", "שלום", "😀", "日本", "a=b",
    "*", "?", "[a]",
    "q" * 10_000, "\ufffd", "\ufeff", "\uffff", "NaN", "'", "%s", "$(x)", "<script>", "é", "e\u0301",
]  # fmt: skip
BYTES = {b"\xff": r"\xff", b"\xfe": r"\xfe", b"a\xffb": r"a\xffb", b"\xed\xa0\x80": r"\xed\xa0\x80", b"\xc3": r"\xc3"}
NAMES = {**{text.encode(): text for text in TEXTS}, **BYTES}
"""What Redis holds, and how it is shown."""


@pytest.fixture(scope="module")
def exporter() -> Iterator[Exporter]:
    with running() as server, server.client() as client:
        for name in NAMES:
            plant(client, name)
        with exporting("--redis.url", server.url) as started:
            yield started


def test_each_is_in_the_text_format(exporter: Exporter) -> None:
    samples = scrape(exporter)

    assert failed_collectors(samples) == set()
    for shown in NAMES.values():
        assert samples[key("bullmq_queue_jobs", prefix="bull", queue=shown, state="waiting")] == 2
    assert samples[key("bullmq_queues")] == len(NAMES)


def test_each_is_in_openmetrics(exporter: Exporter) -> None:
    text = exporter.get("/metrics", accept="application/openmetrics-text; version=1.0.0").text

    jobs = next(family for family in text_string_to_metric_families(text) if family.name == "bullmq_queue_jobs")  # type: ignore[no-untyped-call]  # untyped in prometheus_client

    assert {sample.labels["queue"] for sample in jobs.samples} == set(NAMES.values())
    assert {sample.value for sample in jobs.samples if sample.labels["state"] == "waiting"} == {2}


def test_each_is_in_prometheus(exporter: Exporter, tmp_path: Path) -> None:
    with prometheus(exporter, tmp_path) as ask:
        wait_until(lambda: bool(ask("up == 1 and on() bullmq_up")), "Prometheus to scrape", timeout=30, poll=0.3)

        stored = ask('bullmq_queue_jobs{state="waiting"}')

    assert stored == dict.fromkeys(NAMES.values(), "2")


def test_of_names_that_read_the_same_one_is_shown_and_the_other_counted() -> None:
    with running() as server, server.client() as client:
        plant(client, b"\xff")
        plant(client, rb"\xff")
        with exporting("--redis.url", server.url) as exporter:
            before, after = scrape(exporter), scrape(exporter)

    dropped = key("bullmq_series_dropped_total", reason="collision")
    assert after[key("bullmq_queue_jobs", prefix="bull", queue=r"\xff", state="waiting")] == 2
    assert after[dropped] == before[dropped] + 1


@contextlib.contextmanager
def prometheus(exporter: Exporter, folder: Path) -> Iterator[Callable[[str], dict[str, str]]]:
    """A real one that scrapes the exporter; a function that asks it, and tells values by queue."""
    program = shutil.which("prometheus")
    if program is None:
        missing("no prometheus on PATH: it comes from the system's package")
    target = exporter.url.removeprefix("http://")
    config = folder / "prometheus.yml"
    config.write_text(
        f"scrape_configs: [{{job_name: qobserve, scrape_interval: 1s, static_configs: [{{targets: ['{target}']}}]}}]\n",
        encoding="utf-8",
    )
    address = f"127.0.0.1:{free_port()}"
    argv = [program, f"--config.file={config}", f"--storage.tsdb.path={folder}", f"--web.listen-address={address}"]
    child = Child(argv)

    def ask(query: str) -> dict[str, str]:
        with contextlib.suppress(httpx.TransportError):
            answer = httpx.get(f"http://{address}/api/v1/query", params={"query": query}).json()
            found = answer.get("data", {}).get("result", [])
            return {series["metric"].get("queue", ""): series["value"][1] for series in found}
        return {}

    try:
        yield ask
    finally:
        child.kill()
