"""What telemetry does wrong stays in here: the application must not notice."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from opentelemetry import context as contexts
from opentelemetry.instrumentation.utils import is_instrumentation_enabled

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token

    from opentelemetry.context import Context

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger("qobserve.tracing")
_told: set[str] = set()
_MOST_TOLD = 100


def shielded(function: Callable[P, R]) -> Callable[P, R | None]:
    """Make a function answer None instead of raising; the first failure of each function and class is logged."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        except Exception as exc:  # noqa: BLE001  # whatever an SDK, a sampler or a propagator does, the job goes on
            _tell(function.__name__, type(exc).__name__)
            return None

    return wrapper


@shielded
def enabled() -> bool:
    """Whether spans are wanted at this moment (`suppress_instrumentation`)."""
    return bool(is_instrumentation_enabled())


@shielded
def attached(context: Context) -> Token[Context]:
    """Make a context the current one."""
    return contexts.attach(context)


@shielded
def detached(token: Token[Context] | None) -> None:
    """Undo `attached`."""
    if token is not None:
        contexts.detach(token)


def _tell(where: str, error: str) -> None:
    key = f"{where} {error}"
    if key not in _told and len(_told) < _MOST_TOLD:
        _told.add(key)
        _log.warning("Telemetry of a job failed; the job goes on without it", extra={"step": where, "error": error})
