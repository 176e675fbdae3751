"""Which queues are shown as one."""

from __future__ import annotations

import pytest

from qobserve.metrics.templates import Templates
from qobserve.model.keys import queue_id

TEMPLATES = Templates(["tenant-*-mail", "tenant-?-*", "a*", "[x]"])


@pytest.mark.parametrize(
    ("prefix", "name", "labels", "merged"),
    [
        ("bull", "tenant-12-mail", 'prefix="bull",queue="tenant-*-mail"', True),
        ("bull", "tenant-1-mail", 'prefix="bull",queue="tenant-*-mail"', True),
        ("bull", "tenant-1-sms", 'prefix="bull",queue="tenant-?-*"', True),
        ("other", "tenant-1-mail", 'prefix="other",queue="tenant-*-mail"', True),
        ("bull", "tenant-12-sms", 'prefix="bull",queue="tenant-12-sms"', False),
        ("bull", "Abc", 'prefix="bull",queue="Abc"', False),
        ("a", "b", 'prefix="a",queue="b"', False),
        ("bull", "x", 'prefix="bull",queue="[x]"', True),
        ("bull", "[x]", 'prefix="bull",queue="[x]"', False),
    ],
)
def test_the_first_glob_that_matches_the_name_is_the_name(prefix: str, name: str, labels: str, merged: bool) -> None:  # noqa: FBT001 - an expectation of the table above
    assert TEMPLATES.labels(queue_id(prefix, name)) == (labels, merged)


def test_without_templates_every_queue_is_itself() -> None:
    assert Templates().labels(queue_id("bull", "tenant-1-mail")) == ('prefix="bull",queue="tenant-1-mail"', False)
