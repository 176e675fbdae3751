"""Instruments a Python program before its first line, as `opentelemetry-instrument` does; see rig.traced."""

from rig.traced import instrument

try:
    instrument()
except Exception as exc:  # the interpreter would print it and go on without traces
    raise SystemExit(f"no traces: {exc!r}") from exc
