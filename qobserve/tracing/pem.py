"""The certificates with which an OTLP endpoint is trusted and that it is shown."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.config.shown import quoted_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.tracing.variables import Named


@dataclass(frozen=True, slots=True, kw_only=True)
class PemFiles:
    """Paths of PEM files; None where the system's authorities, or no certificate of our own, will do."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None


def pem_problems(ca: Named | None, certificate: Named | None, key: Named | None) -> Iterator[str]:
    """What is wrong with the files, one sentence each."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca is not None:
        try:
            context.load_verify_locations(cafile=ca.text)
        except (ssl.SSLError, OSError):
            yield f"{ca.source}: {quoted_name(ca.text)} cannot be read or holds no certificates in PEM form"
    for one, other, what in ((certificate, key, "the key"), (key, certificate, "the certificate")):
        if one is not None and other is None:
            yield f"{one.source}: a client certificate and its key go together, and {what} is not given"
    if certificate is not None and key is not None:
        try:
            # The empty password keeps OpenSSL from asking for one on the terminal.
            context.load_cert_chain(certificate.text, key.text, password="")
        except (ssl.SSLError, OSError):
            yield (
                f"{certificate.source}: {quoted_name(certificate.text)} and {quoted_name(key.text)} are not "
                "a certificate and its key in PEM form, the key without a passphrase"
            )
