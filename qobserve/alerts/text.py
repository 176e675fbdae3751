"""Words that the texts of several alerts share, in Prometheus's templates."""

from __future__ import annotations

_TARGET = "{{ with $labels.bullmq_target }} of Redis {{ . }}{{ end }}"

OF_QUEUE = "{{ $labels.prefix }}:{{ $labels.queue }}" + _TARGET
"""The queue; and which Redis, where there are several."""
OF_REDIS = "{{ with $labels.bullmq_target }}{{ . }}{{ else }}read by {{ $labels.instance }}{{ end }}"
"""The Redis: its alias, or who reads it."""

VALUE = "{{ $value | humanize }}"
TIME = "{{ $value | humanizeDuration }}"
SHARE = "{{ $value | humanizePercentage }}"


def recorded(series: str, form: str) -> str:
    """The value of a recorded series of the alert's queue, put into `form` by one of Prometheus's functions."""
    names = ("job", "instance", "bullmq_target", "prefix", "queue")
    matchers = ",".join(f"{name}=%q" for name in names)
    values = " ".join(f"$labels.{name}" for name in names)
    return f"{{{{ range query (printf `{series}{{{matchers}}}` {values}) }}}}{{{{ .Value | {form} }}}}{{{{ end }}}}"
