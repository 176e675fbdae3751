"""Certificates for TLS tests: an authority, a server and a client, made anew."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from pathlib import Path

_HOUR = dt.timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """PEM files: what a server and a client need to trust each other."""

    ca_certificate: Path
    server_certificate: Path
    server_key: Path
    client_certificate: Path
    client_key: Path


def make_certificates(folder: Path) -> Certificates:
    """Write an authority, and a server (127.0.0.1, localhost) and a client that it vouches for, valid for an hour."""
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = _name("qobserve test authority")
    ca = _builder(ca_name, ca_name, ca_key).add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    usage = x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    files = Certificates(
        ca_certificate=folder / "ca.pem",
        server_certificate=folder / "server.pem",
        server_key=folder / "server.key",
        client_certificate=folder / "client.pem",
        client_key=folder / "client.key",
    )
    signed = ca.add_extension(usage, critical=True).sign(ca_key, hashes.SHA256())
    files.ca_certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    _issue(files.server_certificate, files.server_key, "127.0.0.1", ExtendedKeyUsageOID.SERVER_AUTH, (ca_name, ca_key))
    _issue(files.client_certificate, files.client_key, "client", ExtendedKeyUsageOID.CLIENT_AUTH, (ca_name, ca_key))
    return files


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _HOUR)
        .not_valid_after(now + _HOUR)
    )


def _issue(
    certificate: Path,
    key_file: Path,
    common: str,
    usage: x509.ObjectIdentifier,
    authority: tuple[x509.Name, ec.EllipticCurvePrivateKey],
) -> None:
    issuer, ca_key = authority
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")])
    signed = (
        _builder(_name(common), issuer, key)
        .add_extension(names, critical=False)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    key_file.chmod(0o600)
