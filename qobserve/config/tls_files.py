"""Certificates in files: whether they are what they should be."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from qobserve.config.shown import quoted_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.config.resolve import Resolved


def tls_file_problems(resolved: Resolved, ca: str, cert: str, key: str) -> Iterator[str]:
    """What is wrong with the files that three settings name; a certificate and its key are of use together only."""
    values = resolved.values
    for one, other in ((cert, key), (key, cert)):
        if one in values and other not in values and resolved.sure(other):
            yield f"{values[one].source}: a client certificate and its key go together, set {other} as well"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca in values:
        try:
            context.load_verify_locations(cafile=str(values[ca].value))
        except (ssl.SSLError, OSError):
            yield f"{values[ca].source}: {quoted_name(str(values[ca].value))} holds no certificates in PEM form"
    if cert in values and key in values:
        try:
            context.load_cert_chain(str(values[cert].value), str(values[key].value), password="")
        except (ssl.SSLError, OSError):
            files = f"{quoted_name(str(values[cert].value))} and {quoted_name(str(values[key].value))}"
            yield (
                f"{values[cert].source}: {files} are not a certificate and its key in PEM form, "
                "the key without a passphrase"
            )
