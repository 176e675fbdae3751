"""Where the runbooks are published, unless a user says where they keep them."""

from __future__ import annotations

RUNBOOKS = "https://qobserve.example/runbooks"
"""Leads nowhere (a reserved name): the export takes the folder that has them, `<folder>/<Alert>.md`."""
