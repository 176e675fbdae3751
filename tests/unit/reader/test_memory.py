"""What is remembered of a queue: nothing at first, and each queue by itself."""

from __future__ import annotations

from qobserve.reader.memory import QueueMemory, ReadyEvent


def test_levels_are_probed_only_where_the_set_outgrew_the_window() -> None:
    assert QueueMemory(levels=(1, 3), deep=True).probed_levels == (1, 3)
    assert QueueMemory(levels=(1, 3), deep=False).probed_levels == ()


def test_memories_share_nothing() -> None:
    first, second = QueueMemory(), QueueMemory()
    first.events[b"1"] = ReadyEvent(1, None)
    first.unlocked[b"1"] = 1

    assert second == QueueMemory(seen=False, witness=None, levels=(), deep=False, events={}, cursor=None, asked={})
    assert first != second
