"""The settings of `qobserve trace`: those of the exporter without what only metrics need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.config.load import collect
from qobserve.config.table import SETTINGS
from qobserve.errors import SettingsError
from qobserve.tracing.destination import destination

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.config import Settings
    from qobserve.config.load import Outcome

_SECTIONS_OF_METRICS = frozenset({"web", "collector", "slo", "metrics"})
_OF_THE_EXPORTER = frozenset({"once", "follow.enabled"})
_ENDPOINT = "tracing.otlp-endpoint"
_NOWHERE = (
    "there is nowhere to send traces: give --tracing.otlp-endpoint URL, such as http://127.0.0.1:4318, "
    "or set OTEL_EXPORTER_OTLP_ENDPOINT"
)

TRACE_SETTINGS = tuple(
    setting
    for setting in SETTINGS
    if setting.section not in _SECTIONS_OF_METRICS and setting.name not in _OF_THE_EXPORTER
)


def trace_settings(words: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """The settings of a command line, the environment and the file that one of them names.

    What variables and file say about metrics is checked, and else no business of the tracer: both may be shared with
    an exporter.

    Raises:
        SettingsError: something is wrong, or there is nowhere to send spans; it lists every mistake.
    """
    outcome = collect(words, environ, TRACE_SETTINGS)
    problems = [*outcome.problems, *_where_to(outcome, environ)]
    if not outcome.settings.follow.enabled and not outcome.problems:
        problems.append("follow.enabled is off: traces are made of events, which must be followed")
    if problems:
        raise SettingsError(problems)
    return outcome.settings


def _where_to(outcome: Outcome, environ: Mapping[str, str]) -> Sequence[str]:
    """What is wrong with the way out for spans, or that there is none; a wrong endpoint was found wrong already."""
    try:
        found = destination(outcome.settings.tracing, environ)
    except SettingsError as exc:
        return exc.problems
    if found is not None or _ENDPOINT in outcome.wrong:
        return ()
    for name, value in (("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")):
        if environ.get(name, "").strip().lower() == value:
            return (f"{name}={value} switches traces off, and there is nothing else to do: unset it",)
    return (_NOWHERE,)
