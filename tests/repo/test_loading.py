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


# Where it is installed, redis itself loads OpenTelemetry: what counts is that nothing of ours asks for it.
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("google", "grpc", "opentelemetry", "requests")))
import qobserve.cli.exporter, qobserve.cli.serve, qobserve.tracing.provider
print("loaded")
"""


def test_an_exporter_that_sends_no_traces_does_without_opentelemetry() -> None:
    run = subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT], check=True, capture_output=True, text=True)
    assert run.stdout == "loaded\n"
