"""Which share of the traces is exported, where the settings leave it to the standard OTEL_* variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.config.shown import quoted

if TYPE_CHECKING:
    from qobserve.tracing.variables import Variables

SAMPLER = "OTEL_TRACES_SAMPLER"
ARGUMENT = "OTEL_TRACES_SAMPLER_ARG"

_FIXED = {"always_on": 1.0, "always_off": 0.0, "parentbased_always_on": 1.0, "parentbased_always_off": 0.0}
_BY_RATIO = ("traceidratio", "parentbased_traceidratio")


def sampling_ratio(variables: Variables) -> float:
    """The ratio that the variables ask for; what a producer decided not to sample is left out whatever they say."""
    found = variables.get(SAMPLER)
    word = "always_on" if found is None else variables.choice(found, (*_FIXED, *_BY_RATIO), "always_on")
    if word in _FIXED:
        return _FIXED[word]
    argument = variables.get(ARGUMENT)
    return 1.0 if argument is None else variables.attempt(ARGUMENT, lambda: _ratio(argument.text), 1.0)


def _ratio(text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise ValueError(f"{quoted(text)} is not a share from 0 to 1: write 0.25 for a quarter of the traces")
    return ratio
