"""Builds many queues and prints what reading them costs: raw, our reader, a whole scrape, and BullMQ's own."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import pytest
from dataset import LEAST_IN_ALL_STATES
from measure import Options, measure
from rig.programs import KINDS

# Enough queues that second questions leave before the first answers are all in.
_SMALL = Options(queues=250, jobs=50, repeats=3, kind="redis-7.0")


def main() -> None:
    """Run it; what is missing on this machine is said in one line."""
    words = _words()
    options = Options(queues=words.queues, jobs=words.jobs, repeats=words.repeats, kind=words.server)
    if words.small:
        options = Options(queues=_SMALL.queues, jobs=_SMALL.jobs, repeats=_SMALL.repeats, kind=words.server)
    try:
        report = asyncio.run(measure(options))
    except (pytest.skip.Exception, pytest.fail.Exception) as exc:
        raise SystemExit(f"bench: {exc}") from exc
    print(report.as_text())
    if words.json:
        words.json.write_text(json.dumps(report.as_json(), indent=2) + "\n", encoding="utf-8")


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("--queues", type=int, default=1000, help="how many queues (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=1000, help="how many jobs in each (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=15, help="how often each way is measured (default %(default)s)")
    parser.add_argument("--server", choices=KINDS, default=_SMALL.kind, help="which server (default %(default)s)")
    parser.add_argument("--small", action="store_true", help="a few queues, to see that everything works")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    words = parser.parse_args()
    if words.jobs <= LEAST_IN_ALL_STATES:
        parser.error(f"--jobs must be more than {LEAST_IN_ALL_STATES}: with as many, a queue has some in each state")
    return words


if __name__ == "__main__":
    main()
