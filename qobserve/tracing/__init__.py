"""Traces: job runs as spans, and their way to an OTLP endpoint; the only package that knows OpenTelemetry."""
