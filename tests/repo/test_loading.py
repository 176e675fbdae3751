"""Importing the package costs nothing that the importer did not ask for."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
before = set(sys.modules)
import qobserve
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


def test_the_package_root_pulls_in_nothing_third_party() -> None:
    run = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], check=True, capture_output=True, text=True)
    assert set(run.stdout.split()) - sys.stdlib_module_names == {"qobserve"}
