"""Prints what reading many queues costs, raw and ours and BullMQ's own, and what following their events does."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import follow
import measure
import pytest
from dataset import LEAST_IN_ALL_STATES
from rig.programs import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from report import Report

_KIND = "redis-7.0"
_WITHOUT_ENTRIES_ADDED = "redis-6.2"
PARTS = ("read", "follow")


def main() -> None:
    """Run it; what is missing on this machine is said in one line."""
    words = _words()
    reports: dict[str, Report] = {}
    try:
        for part, report in _measured(words):
            print(("\n" if reports else "") + report.as_text(), flush=True)
            reports[part] = report
    except (pytest.skip.Exception, pytest.fail.Exception) as exc:
        raise SystemExit(f"bench: {exc}") from exc
    if words.json:
        told = {part: report.as_json() for part, report in reports.items()}
        words.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def _measured(words: argparse.Namespace) -> Iterator[tuple[str, Report]]:
    """The parts that are wanted, one after the other."""
    if words.only != "follow":
        options = measure.Options(queues=words.queues, jobs=words.jobs, repeats=words.repeats, kind=words.server)
        if words.small:
            # Enough queues that second questions leave before the first answers are all in.
            options = measure.Options(queues=250, jobs=50, repeats=3, kind=words.server)
        yield "read", asyncio.run(measure.measure(options))
    if words.only != "read":
        floods = follow.Options(
            jobs=words.flood_jobs, more_jobs=words.more_jobs, waiting=words.waiting_jobs, kind=words.server
        )
        if words.small:
            floods = follow.Options(
                jobs=1_000, more_jobs=1_000, waiting=5_000, idle_queues=50, idle_seconds=1, kind=words.server
            )
        yield "follow", follow.follow(floods)


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    whole = follow.Options(kind=_KIND)
    numbers = {
        "queues": (1000, "how many queues are read"),
        "jobs": (1000, "how many jobs there are in each"),
        "repeats": (15, "how often each way is measured"),
        "flood-jobs": (whole.jobs, "how many jobs there are in a flood that is followed"),
        "more-jobs": (whole.more_jobs, "how many come after them, to see whether memory grows"),
        "waiting-jobs": (whole.waiting, "how many jobs wait at the end, to see how much memory they take"),
    }
    for name, (default, what) in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{what} (default %(default)s)")
    parser.add_argument("--server", choices=KINDS, default=_KIND, help="which server (default %(default)s)")
    parser.add_argument("--only", choices=PARTS, help="measure only what reading or what following costs")
    parser.add_argument("--small", action="store_true", help="a few queues and jobs, to see that everything works")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    words = parser.parse_args()
    if words.jobs <= LEAST_IN_ALL_STATES:
        parser.error(f"--jobs must be more than {LEAST_IN_ALL_STATES}: with as many, a queue has some in each state")
    if words.server == _WITHOUT_ENTRIES_ADDED and words.only != "read":
        parser.error("before Redis 7 nothing tells how many events there were: use --only read")
    return words


if __name__ == "__main__":
    main()
