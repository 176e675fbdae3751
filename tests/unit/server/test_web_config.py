"""The web configuration file: what of the exporter-toolkit's format is taken, and what is told about the rest."""

from __future__ import annotations

import shutil
import ssl
from typing import TYPE_CHECKING

import bcrypt
import pytest

from qobserve.errors import SettingsError
from qobserve.server.web_config import load_web_config

if TYPE_CHECKING:
    from pathlib import Path

    from rig.certificates import Certificates

HASH = bcrypt.hashpw(b"pw", bcrypt.gensalt(4)).decode()


@pytest.fixture
def folder(tmp_path: Path, certificates: Certificates) -> Path:
    """A folder with a certificate and the file that names it by a relative path."""
    shutil.copy(certificates.server_certificate, tmp_path / "server.crt")
    shutil.copy(certificates.server_key, tmp_path / "server.key")
    shutil.copy(certificates.ca_certificate, tmp_path / "ca.crt")
    (tmp_path / "junk.pem").write_text("junk")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "web.yml"
    path.write_text(text, encoding="utf-8")
    return path


def problems(folder: Path, text: str) -> list[str]:
    path = written(folder, text)
    with pytest.raises(SettingsError) as caught:
        load_web_config(path)
    return [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]


def test_a_whole_file(folder: Path) -> None:
    text = f"""
tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  min_version: TLS12
  max_version: TLS12
  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: true
http_server_config:
  http2: true
  headers: {{X-Frame-Options: deny, Strict-Transport-Security: max-age=1, X-XSS-Protection: ""}}
basic_auth_users: {{alice: {HASH}}}
"""
    config = load_web_config(written(folder, text))
    assert config.users == {"alice": HASH.encode()}
    assert config.headers == (("X-Frame-Options", "deny"), ("Strict-Transport-Security", "max-age=1"))
    assert config.files == tuple(folder / name for name in ("web.yml", "server.crt", "server.key", "ca.crt"))
    assert config.tls is not None
    assert config.tls.verify_mode is ssl.CERT_REQUIRED
    assert (config.tls.minimum_version, config.tls.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
    names = {cipher["name"] for cipher in config.tls.get_ciphers() if cipher["protocol"] == "TLSv1.2"}
    assert names == {"ECDHE-ECDSA-AES128-GCM-SHA256"}


@pytest.mark.parametrize("text", ["", "basic_auth_users:\n", "{}", "tls_server_config: {}\nhttp_server_config:\n"])
def test_an_empty_file_asks_for_nothing(folder: Path, text: str) -> None:
    config = load_web_config(written(folder, text))
    assert (dict(config.users), config.headers, config.tls) == ({}, (), None)


def test_all_mistakes_are_told_at_once(folder: Path) -> None:
    text = """
tls_server_config:
  cert_file: gone.crt
  client_auth_type: Always
  client_ca_file: ca.crt
  min_version: TLS13
  max_version: TLS12
  cipher_suites: [SOMETHING_ELSE]
  prefer_server_cipher_suites: perhaps
  client_allowed_sans: [x]
  cert: inline
http_server_config:
  http2: no-idea
  headers: {X-Frame-Options: never, Server: x, Content-Security-Policy: "a\\nb"}
  compression: on
basic_auth_users: {alice: plain, "b:ob": , carol: [x]}
basic_auth_user: {}
rate_limit: {burst: 1}
"""
    assert problems(folder, text) == [
        "basic_auth_user: there is no such key, did you mean basic_auth_users?",
        "rate_limit: it is not supported, leave it out",
        "http_server_config.compression: there is no such key",
        ('http_server_config.http2: "no-idea" is neither true nor false: write true, false, 1, 0, yes, no, on or off'),
        "http_server_config.headers.Server: there is no such key",
        'http_server_config.headers.X-Frame-Options: "never" is not one of deny, sameorigin',
        "http_server_config.headers.Content-Security-Policy: a header is one line of ASCII",
        'basic_auth_users."alice": its value is no bcrypt hash, make one with: htpasswd -nBC 10 USER',
        'basic_auth_users."b:ob": a user name is not empty and holds no ":"',
        'basic_auth_users."b:ob": its value is no bcrypt hash, make one with: htpasswd -nBC 10 USER',
        'basic_auth_users."carol": one value is expected',
        (
            "tls_server_config.client_allowed_sans: it is not supported, "
            "use a client_ca_file of its own for the clients that may connect"
        ),
        "tls_server_config.cert: it is not supported, write the certificate into a file and name it as cert_file",
        f'tls_server_config.cert_file: cannot read "{folder / "gone.crt"}": No such file or directory',
        "tls_server_config.key_file: it is missing, TLS needs both cert_file and key_file",
        (
            'tls_server_config.client_auth_type: "Always" is not one of '
            "NoClientCert, RequestClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert"
        ),
        "tls_server_config.min_version: TLS13 is above max_version TLS12",
        (
            "tls_server_config.client_ca_file: client_auth_type NoClientCert verifies nothing, "
            "write RequireAndVerifyClientCert"
        ),
        'tls_server_config.cipher_suites: "SOMETHING_ELSE" is not a cipher suite that is supported',
        (
            'tls_server_config.prefer_server_cipher_suites: "perhaps" is neither true nor false: '
            "write true, false, 1, 0, yes, no, on or off"
        ),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "tls_server_config: {cert_file: junk.pem, key_file: server.key}",
            "are not a certificate and its key in PEM form",
        ),
        (
            (
                "tls_server_config: {cert_file: server.crt, key_file: server.key, client_ca_file: junk.pem, "
                "client_auth_type: VerifyClientCertIfGiven}"
            ),
            "holds no certificates in PEM form",
        ),
        (
            (
                "tls_server_config: {cert_file: server.crt, key_file: server.key, "
                "client_auth_type: RequireAndVerifyClientCert}"
            ),
            "RequireAndVerifyClientCert needs client_ca_file as well",
        ),
        ("tls_server_config: [a]", "tls_server_config: keys and values are expected here"),
        ("basic_auth_users: {a: b", "line 1: this is no valid YAML"),
        ("basic_auth_users:\n  a: x\n  a: y\n", "basic_auth_users.a: it is given twice, in the lines 2 and 3"),
    ],
)
def test_a_file_that_cannot_be_served(folder: Path, text: str, problem: str) -> None:
    assert any(problem in told for told in problems(folder, text))


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read it: No such file"):
        load_web_config(tmp_path / "gone.yml")
