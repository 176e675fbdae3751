"""Methods are replaced and put back, whoever else has been there."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import pytest
from opentelemetry.instrumentation.utils import suppress_instrumentation
from wrapt import FunctionWrapper

from qobserve.tracing.instrumentor_call import Patch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.tracing.instrumentor_call import Call


class Shop:
    async def sell(self, what: str, amount: int = 1, *, gift: bool = False) -> tuple[str, int, bool]:
        """Sell something."""
        return what, amount, gift


class Corner(Shop):
    async def sell(self, what: str) -> tuple[str, int, bool]:  # type: ignore[override]  # as people do
        return await super().sell(what, amount=7)


class Traced:
    """Remembers what went through."""

    def __init__(self) -> None:
        self.seen: list[dict[str, object]] = []

    async def __call__(self, call: Call) -> object:
        self.seen.append(dict(call.bound.arguments))
        return await call.make()


@pytest.fixture
def traced() -> Traced:
    return Traced()


@pytest.fixture
def patch(traced: Traced) -> Iterator[Patch]:
    patch = Patch(Shop, "sell", traced)
    patch.install()
    yield patch
    patch.remove()


@pytest.mark.usefixtures("patch")
async def test_arguments_arrive_however_they_are_given(traced: Traced) -> None:
    shop = Shop()
    assert await shop.sell("tea") == ("tea", 1, False)
    assert await shop.sell(amount=2, what="tea", gift=True) == ("tea", 2, True)
    assert await Shop.sell(shop, "tea", 3) == ("tea", 3, False)
    assert traced.seen == [
        {"what": "tea"},
        {"what": "tea", "amount": 2, "gift": True},
        {"what": "tea", "amount": 3},
    ]


@pytest.mark.usefixtures("patch")
async def test_a_subclass_goes_through_once(traced: Traced) -> None:
    assert await Corner().sell("tea") == ("tea", 7, False)
    assert traced.seen == [{"what": "tea", "amount": 7}]


@pytest.mark.usefixtures("patch")
def test_a_wrong_call_fails_at_once_and_is_not_traced(traced: Traced) -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'what'"):
        Shop().sell()  # type: ignore[call-arg]
    assert traced.seen == []


async def test_what_is_given_instead_reaches_the_method() -> None:
    async def doubled(call: Call) -> object:
        call.give("amount", 2 * call.argument("amount", default=1))  # type: ignore[operator]
        return await call.make()

    patch = Patch(Shop, "sell", doubled)
    patch.install()
    assert await Shop().sell("tea") == ("tea", 2, False)
    assert await Shop().sell("tea", 4, gift=True) == ("tea", 8, True)
    patch.remove()


@pytest.mark.usefixtures("patch")
def test_the_method_looks_as_before() -> None:
    assert inspect.iscoroutinefunction(Shop.sell)
    assert str(inspect.signature(Shop.sell)) == (
        "(self, what: 'str', amount: 'int' = 1, *, gift: 'bool' = False) -> 'tuple[str, int, bool]'"
    )
    assert Shop.sell.__doc__ == "Sell something."


@pytest.mark.usefixtures("patch")
async def test_nothing_goes_through_while_it_is_suppressed(traced: Traced) -> None:
    with suppress_instrumentation():
        assert await Shop().sell("tea") == ("tea", 1, False)
    assert traced.seen == []


async def test_the_very_method_comes_back(patch: Patch, traced: Traced) -> None:
    wrapper = vars(Shop)["sell"]
    patch.remove()
    assert vars(Shop)["sell"] is wrapper.__wrapped__
    await Shop().sell("tea")
    patch.remove()
    assert vars(Shop)["sell"] is wrapper.__wrapped__
    assert traced.seen == []


async def test_a_wrapper_of_somebody_else_stays_and_ours_falls_silent(patch: Patch, traced: Traced) -> None:
    original = vars(Shop)["sell"].__wrapped__
    theirs = FunctionWrapper(vars(Shop)["sell"], lambda wrapped, _instance, args, kwargs: wrapped(*args, **kwargs))
    Shop.sell = theirs  # type: ignore[method-assign]
    patch.remove()
    assert vars(Shop)["sell"] is theirs
    assert await Shop().sell("tea") == ("tea", 1, False)
    assert traced.seen == []
    Shop.sell = original  # type: ignore[method-assign]


def test_a_method_that_is_not_there_is_told_of(traced: Traced, caplog: pytest.LogCaptureFixture) -> None:
    before = dict(vars(Shop))
    patch = Patch(Shop, "refund", traced)
    patch.install()
    patch.remove()
    assert dict(vars(Shop)) == before
    assert [vars(record)["method"] for record in caplog.records] == ["Shop.refund"]
