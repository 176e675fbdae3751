"""Promises from the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden.page import EMPTY

from qobserve.config import Slo
from qobserve.metrics.slo import COLLECTOR

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("slo", "wait", "objective"),
    [
        (Slo(wait=30.0, objective=0.999), {"q": 30.0}, {"q": 0.999}),
        (Slo(wait=30.0), {"q": 30.0}, {}),
        (Slo(objective=0.999), {}, {"q": 0.999}),
        (None, {}, {}),
    ],
)
def test_only_what_was_promised(
    collected: Callable[..., object], slo: Slo | None, wait: dict[str, float], objective: dict[str, float]
) -> None:
    assert collected(COLLECTOR, EMPTY, slo=slo) == {
        "bullmq_queue_slo_wait_seconds": wait,
        "bullmq_queue_slo_objective_ratio": objective,
    }
