"""What the exporter's /metrics says about the queues of the demo: fetches the page and reads the rows of the table."""

from __future__ import annotations

import http.client
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

from qobserve.errors import QobserveError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qobserve.demo.address import Address

_ANSWER_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One queue as /metrics shows it; what the page does not say is absent: a missing key, or None."""

    jobs: Mapping[str, int] = field(default_factory=dict)
    ages: Mapping[str, float] = field(default_factory=dict)
    workers: int | None = None
    blocked: tuple[str, ...] = ()

    @property
    def oldest_waiting(self) -> float | None:
        """Seconds that the oldest job which a worker could take has waited; None when unknown."""
        return max((self.ages[state] for state in ("waiting", "prioritized") if state in self.ages), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One scrape: rows by queue name, how many seconds it took (None: not said), and what went wrong."""

    rows: Mapping[str, QueueRow] = field(default_factory=dict)
    seconds: float | None = None
    trouble: str = ""


def read_page(text: str) -> Page:
    """Read a page in the Prometheus text format."""
    jobs: dict[str, dict[str, int]] = {}
    ages: dict[str, dict[str, float]] = {}
    workers: dict[str, int] = {}
    blocked: dict[str, list[str]] = {}
    seconds = None
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            queue = sample.labels.get("queue", "")
            match sample.name:
                case "bullmq_queue_jobs":
                    jobs.setdefault(queue, {})[sample.labels["state"]] = int(sample.value)
                case "bullmq_queue_oldest_job_age_seconds":
                    ages.setdefault(queue, {})[sample.labels["state"]] = sample.value
                case "bullmq_queue_workers":
                    workers[queue] = int(sample.value)
                case "bullmq_queue_blocked" if sample.value:
                    blocked.setdefault(queue, []).append(sample.labels["reason"])
                case "bullmq_scrape_duration_seconds":
                    seconds = sample.value
    rows = {
        queue: QueueRow(
            jobs=jobs[queue],
            ages=ages.get(queue, {}),
            workers=workers.get(queue),
            blocked=tuple(blocked.get(queue, ())),
        )
        for queue in jobs
    }
    return Page(rows=rows, seconds=seconds)


def fetch(address: Address, path: str) -> str:
    """GET `path` from the exporter at `address`; raise QobserveError when it does not answer with 200.

    Without urllib, so that proxy settings of the environment are not asked for a loopback address.
    """
    connection = http.client.HTTPConnection(address.host, address.port, timeout=_ANSWER_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read().decode()
    except (OSError, http.client.HTTPException) as exc:
        raise QobserveError(f"http://{address}{path} does not answer: {exc}") from exc
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise QobserveError(f"http://{address}{path} answers {answer.status}: {body.strip()[:200]}")
    return body
