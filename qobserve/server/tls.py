"""TLS for the HTTP server: contexts from the web configuration, and one that follows its changes."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
# `RequestClientCert` asks for a certificate and takes any answer, none included; nothing here looks at the answer.
CLIENT_AUTH_TYPES = {
    "NoClientCert": ssl.CERT_NONE,
    "RequestClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
# The names of Go's crypto/tls, as the exporter-toolkit takes them; TLS 1.3 suites cannot be chosen, there or here.
CIPHER_SUITES = {
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """The section `tls_server_config`, its words checked."""

    cert_file: Path
    key_file: Path
    client_auth_type: str = "NoClientCert"
    client_ca_file: Path | None = None
    min_version: str = "TLS12"
    max_version: str = "TLS13"
    cipher_suites: tuple[str, ...] = ()


def server_context(tls: TlsSettings) -> ssl.SSLContext:
    """The context that serves these settings.

    Raises:
        ValueError: a file is not what it should be, or the suites cannot be served; the sentence says which.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[tls.min_version]
    context.maximum_version = VERSIONS[tls.max_version]
    try:
        # The empty password keeps OpenSSL from asking for one on the terminal.
        context.load_cert_chain(tls.cert_file, tls.key_file, password="")
    except (ssl.SSLError, OSError) as exc:
        raise ValueError(
            f'cert_file "{tls.cert_file}" and key_file "{tls.key_file}" are not a certificate and its key in PEM form, '
            "the key without a passphrase"
        ) from exc
    if tls.client_ca_file is not None:
        try:
            context.load_verify_locations(cafile=tls.client_ca_file)
        except (ssl.SSLError, OSError) as exc:
            raise ValueError(f'client_ca_file "{tls.client_ca_file}" holds no certificates in PEM form') from exc
    context.verify_mode = CLIENT_AUTH_TYPES[tls.client_auth_type]
    ciphers = ":".join(filter(None, (CIPHER_SUITES[name] for name in tls.cipher_suites)))
    if ciphers:
        context.set_ciphers(ciphers)
    return context


class LiveContext(ssl.SSLContext):
    """A context that hands every new connection to the one that is current then, so that certificates can change."""

    _current: Callable[[], ssl.SSLContext]

    def __new__(cls, current: Callable[[], ssl.SSLContext]) -> LiveContext:  # noqa: PYI034 - its base is no generic one
        """A context that asks `current` at each connection."""
        self = super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)
        self._current = current
        return self

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,  # noqa: FBT001, FBT002 - the signature is the standard library's
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """What asyncio calls for each connection."""
        return self._current().wrap_bio(incoming, outgoing, server_side, server_hostname, session)
