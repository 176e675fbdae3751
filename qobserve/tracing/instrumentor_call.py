"""Calls of BullMQ's methods on their way through a tracer, and how the methods are replaced and put back."""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wrapt import FunctionWrapper

from qobserve.tracing.instrumentor_shield import enabled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Method: TypeAlias = Callable[..., Awaitable[object]]

_log = logging.getLogger("qobserve.tracing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a method, with right arguments, that has not been made yet."""

    method: Method
    instance: object
    bound: inspect.BoundArguments

    def argument(self, name: str, default: object = None) -> object:
        """What the caller gave under a name."""
        return self.bound.arguments.get(name, default)

    def give(self, name: str, value: object) -> None:
        """Give something else under a name; what the caller holds is not touched."""
        self.bound.arguments[name] = value

    def make(self) -> Awaitable[object]:
        """Call the method as it was."""
        return self.method(*self.bound.args, **self.bound.kwargs)


class Patch:
    """One method of a class that goes through `traced`; subclasses inherit it, and reach it by `super()`."""

    def __init__(self, owner: type, name: str, traced: Callable[[Call], Awaitable[object]]) -> None:
        self._owner = owner
        self._name = name
        self._traced = traced
        self._original: object = None
        self._wrapper: object = None

    def install(self) -> None:
        """Replace the method; one that this version of the library has not is left out with a warning."""
        self._original = vars(self._owner).get(self._name)
        if not inspect.isfunction(self._original):
            where = f"{self._owner.__name__}.{self._name}"
            _log.warning("BullMQ has no such method; it is not traced", extra={"method": where})
            return
        self._wrapper = FunctionWrapper(self._original, self._through(inspect.signature(self._original)))
        setattr(self._owner, self._name, self._wrapper)

    def remove(self) -> None:
        """Put the very original back; where somebody has wrapped our wrapper, it stays beneath and does nothing."""
        if self._wrapper is not None and vars(self._owner).get(self._name) is self._wrapper:
            setattr(self._owner, self._name, self._original)
        self._wrapper = None

    def _through(self, signature: inspect.Signature) -> Callable[..., Awaitable[object]]:
        without_self = signature.replace(parameters=list(signature.parameters.values())[1:])

        def wrapper(
            wrapped: Method, instance: object, args: tuple[object, ...], kwargs: dict[str, object]
        ) -> Awaitable[object]:
            bound = _bound(without_self, args, kwargs) if self._wrapper is not None and enabled() else None
            if bound is None:  # when the arguments are wrong, BullMQ is to say so
                return wrapped(*args, **kwargs)
            return self._traced(Call(method=wrapped, instance=instance, bound=bound))

        return wrapper


def _bound(
    signature: inspect.Signature, args: tuple[object, ...], kwargs: dict[str, object]
) -> inspect.BoundArguments | None:
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        return None
