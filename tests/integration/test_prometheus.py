"""A real Prometheus scrapes a real exporter on real BullMQ queues, and answers with the numbers of the page."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from rig import oracle
from rig.child import Child, RigTimeoutError, wait_until
from rig.drivers import DEFAULT_DRIVER, DRIVERS, driving
from rig.programs import missing
from rig.scrape import exporting
from rig.servers import DEFAULT_KIND, free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rig.drivers import Driver
    from rig.scrape import Exporter
    from rig.servers import Server

Series: TypeAlias = "dict[frozenset[tuple[str, str]], float]"

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
OF_PROMETHEUS = {"job", "instance"}
HOSTILE = 'mail "x"\\ {a="b"} #\n日本'
UNSTEADY = {
    "bullmq_scrape_duration_seconds",
    "bullmq_discovery_duration_seconds",
    "bullmq_queue_oldest_job_age_seconds",
    "bullmq_queue_last_event_timestamp_seconds",
}
"""They differ from one scrape to the next, and are compared by themselves."""


class Prometheus:
    """A running Prometheus."""

    def __init__(self, child: Child, port: int) -> None:
        self.child = child
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, path: str, **parameters: str) -> list[dict[str, object]]:
        """The `data` of an answer of its API, as a list."""
        answer = httpx.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=10).raise_for_status().json()
        found: list[dict[str, object]] = answer["data"]["result"] if path == "query" else answer["data"]
        return found

    def series(self, query: str) -> Series:
        """An instant query: values by labels, `__name__` with them, without those that Prometheus adds."""
        found: Series = {}
        for result in self.ask("query", query=query):
            labels, point = result["metric"], result["value"]
            assert isinstance(labels, dict)
            assert isinstance(point, list)
            found[frozenset((name, text) for name, text in labels.items() if name not in OF_PROMETHEUS)] = float(
                point[1]
            )
        return found

    def value(self, query: str) -> float | None:
        """The one value that a query finds; None for none."""
        return next(iter(self.series(query).values()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Everything that stands for these tests."""

    prometheus: Prometheus
    exporter: Exporter
    server: Server
    accept: str


class _Listener(http.server.BaseHTTPRequestHandler):
    """A target that only remembers how Prometheus asks."""

    accepted: str = ""

    def do_GET(self) -> None:
        type(self).accepted = self.headers["Accept"]
        self.send_response(200)
        self.send_header("Content-Type", OPENMETRICS)
        self.end_headers()
        self.wfile.write(b"# EOF\n")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def listener() -> Iterator[http.server.HTTPServer]:
    server = http.server.HTTPServer(("127.0.0.1", 0), _Listener)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def watched(
    servers: Callable[[str], Server], listener: http.server.HTTPServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    program = shutil.which("prometheus")
    if program is None:
        missing("no prometheus on PATH: it is the system's package of that name")
    server = servers(DEFAULT_KIND)
    for name in DRIVERS:
        with driving(name, server) as driver:
            play(driver, f"{name} {HOSTILE}")
    with exporting("--redis.url", server.url) as exporter:
        folder = tmp_path_factory.mktemp("prometheus")
        child, port = start(program, folder, exporter.url, f"127.0.0.1:{listener.server_port}")
        prometheus = Prometheus(child, port)
        try:
            wait_until(lambda: has_scraped(prometheus), "two scrapes of the exporter", timeout=30, poll=0.2)
            yield Watched(prometheus=prometheus, exporter=exporter, server=server, accept=_Listener.accepted)
        except RigTimeoutError as exc:
            exc.add_note(child.log())
            raise
        finally:
            child.terminate()


def play(driver: Driver, queue: str) -> None:
    """Leave jobs in several states, at rest."""
    for number in range(3):
        driver.call("add", queue=queue, name="job", data={"number": number}, opts={})
    driver.call("add", queue=queue, name="later", data={}, opts={"delay": 3_600_000})
    driver.call("add", queue=queue, name="urgent", data={}, opts={"priority": 3})
    driver.call("pause", queue=queue)


def start(program: str, folder: Path, exporter: str, listener: str) -> tuple[Child, int]:
    """Start Prometheus on a free port."""
    jobs = {"qobserve": exporter.removeprefix("http://"), "listener": listener}
    settings = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [
            {"job_name": job, "static_configs": [{"targets": [address]}]} for job, address in jobs.items()
        ],
    }
    config = folder / "prometheus.yml"
    config.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
    port = free_port()
    argv = (
        program,
        f"--config.file={config}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    return Child(argv, cwd=folder), port


def has_scraped(prometheus: Prometheus) -> bool:
    if not prometheus.child.running:
        raise RigTimeoutError("prometheus ended at once")
    try:
        return prometheus.value('count_over_time(up{job="qobserve"}[1m]) >= 2') is not None and bool(_Listener.accepted)
    except httpx.HTTPError:
        return False


def page(watched: Watched) -> dict[str, Series]:
    """What the exporter answers to Prometheus's own Accept header, by the name of the sample."""
    response = watched.exporter.get("/metrics", Accept=watched.accept)
    assert response.headers["content-type"] == OPENMETRICS
    found: dict[str, Series] = {}
    for family in text_string_to_metric_families(response.text):
        for sample in family.samples:
            labels = frozenset({**sample.labels, "__name__": sample.name}.items())
            # An empty label is none, says Prometheus.
            found.setdefault(sample.name, {})[frozenset(pair for pair in labels if pair[1])] = sample.value
    return found


def test_the_target_is_up_and_every_sample_was_taken(watched: Watched) -> None:
    samples = sum(map(len, page(watched).values()))
    asked = {name: watched.prometheus.value(f'{name}{{job="qobserve"}}') for name in ("up", "bullmq_up")}
    scraped = watched.prometheus.value('scrape_samples_scraped{job="qobserve"}')
    kept = watched.prometheus.value('scrape_samples_post_metric_relabeling{job="qobserve"}')

    assert asked == {"up": 1, "bullmq_up": 1}
    assert scraped == kept == samples
    assert samples > 100


def test_prometheus_asks_for_openmetrics_and_gets_it(watched: Watched) -> None:
    metadata = watched.prometheus.ask("targets/metadata", match_target='{job="qobserve"}')
    kinds = {entry["metric"]: entry["type"] for entry in metadata}

    assert watched.accept.startswith("application/openmetrics-text")
    # Only in OpenMetrics is a counter's family named without its suffix.
    assert kinds["bullmq_queue_add_attempts"] == "counter"
    assert "bullmq_queue_add_attempts_total" not in kinds


def test_queries_find_the_numbers_of_the_page(watched: Watched) -> None:
    shown = {name: series for name, series in page(watched).items() if name.startswith("bullmq_")}
    steady = shown.keys() - UNSTEADY

    assert {name: watched.prometheus.series(f'{name}{{job="qobserve"}}') for name in steady} == {
        name: shown[name] for name in steady
    }
    assert {name: len(watched.prometheus.series(name)) for name in shown} == {
        name: len(series) for name, series in shown.items()
    }


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_queue_is_found_under_its_own_name_however_hostile(watched: Watched, driver: str) -> None:
    queue = f"{driver} {HOSTILE}"
    found = watched.prometheus.series(f"bullmq_queue_jobs{{queue={json.dumps(queue, ensure_ascii=False)}}}")
    counts = {dict(labels)["state"]: value for labels, value in found.items()}
    with watched.server.client() as client:
        truth = oracle.read(client, queue).jobs

    assert counts == truth
    assert sum(truth.values()) == 5


def test_ages_grow_with_the_clock(watched: Watched) -> None:
    queue = json.dumps(f"{DEFAULT_DRIVER} {HOSTILE}", ensure_ascii=False)
    query = f'bullmq_queue_oldest_job_age_seconds{{queue={queue},state="waiting"}}'
    before = watched.prometheus.value(query)
    assert before is not None

    wait_until(lambda: (watched.prometheus.value(query) or 0) > before, "a later scrape", poll=0.2)
    after = watched.prometheus.value(query)

    assert after is not None
    assert before < after < before + 30
