"""What the tests of the rules have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.alerts.export import groups
from qobserve.alerts.options import AlertOptions
from qobserve.config import Settings

if TYPE_CHECKING:
    from qobserve.alerts.rule import Alert, Group


@pytest.fixture(scope="session")
def all_groups() -> tuple[Group, ...]:
    """Every rule that there is."""
    return groups(Settings(), AlertOptions(with_length_alerts=True))


@pytest.fixture(scope="session")
def all_alerts(all_groups: tuple[Group, ...]) -> dict[str, Alert]:
    """Every alert by its name."""
    found = [alert for group in all_groups for alert in group.alerts]
    assert len({alert.name for alert in found}) == len(found) > 20
    return {alert.name: alert for alert in found}
