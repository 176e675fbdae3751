"""The settings of what follows the queues' events: the follower itself, the counters, the traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.config import following_kinds, kinds
from qobserve.config.following import FollowSettings, MetricsSettings, TracingSettings
from qobserve.config.setting import Setting

if TYPE_CHECKING:
    from qobserve.config.kinds import Kind
    from qobserve.config.values import Values


def _setting(owner: type[Values], name: str, kind: Kind, help_: str, *, field: str = "") -> Setting:
    # What was counted or traced by one value cannot go on by another: each of them holds for the life of a process.
    section = {FollowSettings: "follow", MetricsSettings: "metrics", TracingSettings: "tracing"}[owner]
    field = field or name.replace("-", "_")
    return Setting(name=f"{section}.{name}", kind=kind, owner=owner, field=field, help=help_, reload=False)


def _follow(name: str, kind: Kind, help_: str) -> Setting:
    return _setting(FollowSettings, name, kind, help_)


def _metrics(name: str, kind: Kind, help_: str, *, field: str = "") -> Setting:
    return _setting(MetricsSettings, name, kind, help_, field=field)


def _tracing(name: str, kind: Kind, help_: str) -> Setting:
    return _setting(TracingSettings, name, kind, help_)


FOLLOWING_TABLE: tuple[Setting, ...] = (
    _follow("enabled", kinds.BOOLEAN, "Whether the event streams are followed, for counters, durations and traces."),
    _follow("open-jobs", kinds.within(1, 100_000_000), "Jobs that are remembered until they end, for each target."),
    _follow(
        "checkpoint-file",
        following_kinds.WRITABLE_FILE,
        "File that keeps the place in the streams and the counters over a restart.",
    ),
    _metrics("job-names", kinds.BOOLEAN, "Whether what is counted of jobs carries their names, as the label name."),
    _metrics(
        "job-names-limit",
        kinds.within(1, 10_000),
        "Job names that are shown per queue, the first that come; all others are __other__.",
    ),
    _metrics(
        "queue-template",
        kinds.GLOBS,
        "Glob for queues that are shown as one, under the glob as their name, such as tenant-*-mail; held against "
        "NAME, the first that matches counts; repeatable.",
        field="queue_templates",
    ),
    _metrics(
        "exemplars",
        kinds.BOOLEAN,
        "Whether buckets and counters point to the trace of a job, for which the hash of each job is read once; with "
        "traces it is read anyway.",
    ),
    _metrics("wait-buckets", following_kinds.BUCKETS, "Upper bounds of the histogram of waits, rising."),
    _metrics(
        "processing-buckets", following_kinds.BUCKETS, "Upper bounds of the histogram of processing times, rising."
    ),
    _tracing(
        "otlp-endpoint",
        following_kinds.OTLP_ENDPOINT,
        "Where spans go: an OTLP receiver such as http://127.0.0.1:4318; without it there are no traces.",
    ),
    _tracing("otlp-protocol", kinds.one_of("http/protobuf", "grpc"), "How spans travel; http/protobuf if not told."),
    _tracing("otlp-headers-file", kinds.FILE, "File with a header per line, as NAME=VALUE, to send with spans."),
    _tracing("otlp-ca-file", kinds.FILE, "CA certificates that sign the receiver's own, as PEM."),
    _tracing("otlp-client-cert-file", kinds.FILE, "Client certificate for the receiver, as PEM."),
    _tracing("otlp-client-key-file", kinds.FILE, "Key of the client certificate for the receiver, as PEM."),
    _tracing("otlp-timeout", kinds.POSITIVE_DURATION, "Time limit of one export; 10s if not told."),
    _tracing("sampling-ratio", following_kinds.SHARE, "Share of the traces that are sent, by trace id."),
    _tracing(
        "relation",
        kinds.one_of("link", "parent"),
        "How a job's processing refers to the span that added it: by a link, or as its child.",
    ),
    _tracing("queue-size", kinds.within(1, 10_000_000), "Spans that wait to be sent; beyond it they are dropped."),
)
