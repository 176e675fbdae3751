"""When a backlog will be gone, by how it went in the last minutes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from golden.page import EMPTY

from qobserve.metrics.collector import Seen, Shown
from qobserve.metrics.drain import WINDOW_MS, Backlogs
from qobserve.model.keys import QueueId
from qobserve.model.states import State

MINUTE = 60_000
NOW = 1_796_035_293_012


def queue(backlog: int | None, name: bytes = b"q") -> Seen:
    jobs = dict.fromkeys(State, 0) | {State.ACTIVE: 99, State.DELAYED: 99, State.COMPLETED: 99}
    if backlog is None:
        del jobs[State.PAUSED]
    else:
        jobs |= {State.WAITING: backlog // 2, State.PRIORITIZED: backlog - backlog // 2}
    return Seen(replace(EMPTY, queue=QueueId(b"bull", name), jobs=jobs), 0, None)


def told(*looks: tuple[int, int | None]) -> list[float | None]:
    """What is shown at each look: a time in ms, and how many jobs wait."""
    backlogs, found = Backlogs(), []
    for ms, backlog in looks:
        seen = replace(queue(backlog), now_ms=NOW + ms)
        rows = dict(backlogs.rows({"q": Shown((seen,), merged=False, look=None, book=None)}))
        found.append(rows.get("q"))
    return found


@pytest.mark.parametrize(
    ("looks", "seconds"),
    [
        pytest.param([(0, 0)], [0], id="nothing waits, and nothing else need be known"),
        pytest.param([(0, 50)], [None], id="one look tells no rate"),
        pytest.param([(0, 100), (MINUTE, 40)], [None, 40], id="60 a minute"),
        pytest.param([(0, 100), (MINUTE, 40), (2 * MINUTE, 0)], [None, 40, 0], id="gone"),
        pytest.param([(0, 100), (MINUTE, 0), (2 * MINUTE, 50)], [None, 0, None], id="anew after it was gone"),
        pytest.param([(0, 100), (MINUTE, 100)], [None, None], id="as many as before"),
        pytest.param([(0, 100), (MINUTE, 101)], [None, None], id="growing"),
        pytest.param([(0, 0), (MINUTE, 100), (2 * MINUTE, 90)], [0, None, None], id="more than in the window before"),
        pytest.param([(0, None)], [None], id="unknown"),
        pytest.param([(0, 100), (0, 50)], [None, None], id="the same moment"),
        pytest.param([(MINUTE, 100), (0, 50), (30_000, 25)], [None, None, 30], id="the clock was set back"),
        pytest.param([(0, 100), (MINUTE, None), (2 * MINUTE, 60)], [None, None, None], id="unknown in between"),
        pytest.param([(0, 100), (1_000, 1), (2_000, 50)], [None, 1 / 99, 2.0], id="many scrapes a second"),
    ],
)
def test_a_backlog_is_gone_when(looks: list[tuple[int, int | None]], seconds: list[float | None]) -> None:
    assert told(*looks) == pytest.approx(seconds)


def test_only_the_window_counts() -> None:
    looks = [(0, 10_000), *((step * MINUTE, 10_000 - step * 100) for step in range(1, 8))]
    fast = [*looks, (8 * MINUTE, 9_300 - 1_000)]

    # 1,400 jobs fewer than five minutes before.
    assert told(*fast)[-1] == pytest.approx(8_300 / (1_400 / (WINDOW_MS / 1000)))


def test_merged_queues_have_one_backlog_and_a_queue_that_is_gone_is_forgotten() -> None:
    backlogs = Backlogs()

    def rows(ms: int, **queues: tuple[int | None, ...]) -> dict[str, float]:
        shown = {
            name: Shown(
                tuple(replace(queue(each), now_ms=NOW + ms) for each in waiting), merged=True, look=None, book=None
            )
            for name, waiting in queues.items()
        }
        return dict(backlogs.rows(shown))

    assert rows(0, q=(40, 60), other=(10,)) == {}
    assert rows(MINUTE, q=(40, 0)) == {"q": pytest.approx(40)}
    assert rows(2 * MINUTE, q=(0, 0), other=(5,)) == {"q": 0}
    assert rows(3 * MINUTE, q=(0, None)) == {}
