"""Standard output, and what becomes of it when it cannot be written."""

from __future__ import annotations

import errno
import os
import sys

import click

from qobserve.errors import QobserveError


def put(content: bytes | str) -> None:
    """Write all of it to standard output; a reader that has left is click's business.

    Raises:
        QobserveError: it cannot be written, as on a full disk.
    """
    try:
        click.echo(content, nl=False)
    except OSError as exc:
        if exc.errno == errno.EPIPE:
            raise
        # What is still buffered must not fail again when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise QobserveError(f"cannot write to standard output: {(exc.strerror or str(exc)).lower()}") from exc
