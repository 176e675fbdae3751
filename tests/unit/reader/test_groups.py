"""Groups of BullMQ Pro, asked for where the library is Pro only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.model.keys import QueueId
from qobserve.model.reply import Fault
from qobserve.model.snapshot import Groups
from qobserve.reader.groups import group_commands, groups_of

if TYPE_CHECKING:
    from qobserve.model.reply import Reply

QUEUE = QueueId(b"bull", b"q")


def test_pro_is_asked_for_its_four_sets() -> None:
    words = [command.split(b"\r\n")[2::2][:2] for command in group_commands(QUEUE, b"bullmq-pro:7.48.0")]

    assert words == [
        [b"ZCARD", b"bull:q:groups"],
        [b"ZCARD", b"bull:q:groups:limit"],
        [b"ZCARD", b"bull:q:groups:max"],
        [b"ZCARD", b"bull:q:groups:paused"],
    ]


@pytest.mark.parametrize("version", [b"bullmq:6.7.0", b"", None, Fault("WRONGTYPE ..."), 7])
def test_others_are_not_asked(version: Reply) -> None:
    assert group_commands(QUEUE, version) == []


def test_groups_in_the_order_of_the_sets() -> None:
    assert groups_of([1, 2, 3, 4]) == Groups(free=1, limited=2, maxed=3, paused=4)
    assert groups_of([]) is None
