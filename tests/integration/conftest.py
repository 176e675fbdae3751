"""Fixtures of the integration tests: BullMQ in each of its versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.drivers import DRIVERS, driving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.drivers import Driver
    from rig.servers import Server


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, server: Server) -> Iterator[Driver]:
    """A driver of each version in turn, on `server`."""
    with driving(request.param, server) as started:
        yield started
