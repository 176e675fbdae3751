"""Kinds of settings that only what follows the events has."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from qobserve.config.kinds import Kind, positive_duration, show_duration
from qobserve.config.shown import quoted, quoted_address, quoted_name

_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)(%?)")


def share(text: str) -> float:
    """A share from 0 to 1, both ends included, also written in per cent."""
    match = _NUMBER.fullmatch(text.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"{quoted(text)} is not a share from 0 to 1: write 0.1 or 10%")
    return value


def writable_file(text: str) -> Path:
    """The path of a file that can be written; it need not exist, its folder must."""
    path = Path(text)
    # It is replaced as a whole, so that what counts is the folder.
    folder = path.parent
    try:
        good = "\0" not in text and not path.is_dir() and folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    except OSError as exc:
        raise ValueError(f"cannot write {quoted_name(text)}: {exc.strerror}") from exc
    if not good:
        raise ValueError(f"cannot write {quoted_name(text)}: name a file in a folder that exists and may be written")
    return path


def otlp_endpoint(text: str) -> str:
    """The address of an OTLP receiver; what it is told in secret stands in the headers' file."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise ValueError(f"{quoted_address(text)} is not an address: {exc}") from exc
    if parts.scheme not in {"http", "https"} or not host or re.search(r"\s", text):
        raise ValueError(f"{quoted_address(text)} is not an address: write http://HOST:PORT or https://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise ValueError(f"{quoted_address(text)} holds a login: give it as a header, in tracing.otlp-headers-file")
    return text


WRITABLE_FILE = Kind(metavar="FILE", parse=writable_file, path=True)
SHARE = Kind(metavar="RATIO", parse=share, show=lambda value: f"{value:g}")
OTLP_ENDPOINT = Kind(metavar="URL", parse=otlp_endpoint)
BUCKETS = Kind(metavar="DURATION,...", parse=positive_duration, show=show_duration, many=True, commas=True)
