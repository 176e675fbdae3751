"""Runs the command line as `python -m qobserve`."""

from __future__ import annotations

from qobserve.cli import main

if __name__ == "__main__":
    main()
