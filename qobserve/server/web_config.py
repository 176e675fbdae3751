"""The web configuration file, in the form of Prometheus's exporter-toolkit: TLS, headers, basic authentication."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from qobserve.config.given import did_you_mean
from qobserve.config.kinds import boolean, readable_file
from qobserve.config.shown import quoted, quoted_name
from qobserve.config.yaml_file import entries, is_null, parse
from qobserve.errors import SettingsError
from qobserve.server.tls import CIPHER_SUITES, CLIENT_AUTH_TYPES, VERSIONS, TlsSettings, server_context

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SECTIONS = ("tls_server_config", "http_server_config", "basic_auth_users")
_TLS_KEYS = (
    "cert_file",
    "key_file",
    "client_auth_type",
    "client_ca_file",
    "min_version",
    "max_version",
    "cipher_suites",
    "prefer_server_cipher_suites",
)
_HTTP_KEYS = ("http2", "headers")
_HEADERS: dict[str, tuple[str, ...]] = {
    "Content-Security-Policy": (),
    "X-Frame-Options": ("deny", "sameorigin"),
    "X-Content-Type-Options": ("nosniff",),
    "X-XSS-Protection": (),
    "Strict-Transport-Security": (),
}
# Keys of the toolkit that would have an effect which is not given here: to ignore them silently would be unsafe.
_UNSUPPORTED = {
    "cert": "write the certificate into a file and name it as cert_file",
    "key": "write the key into a file and name it as key_file",
    "client_ca": "write the certificates into a file and name it as client_ca_file",
    "client_allowed_sans": "use a client_ca_file of its own for the clients that may connect",
    "curve_preferences": "leave it out",
    "rate_limit": "leave it out",
}
_BCRYPT = re.compile(r"\$2[abxy]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebConfig:
    """How HTTP is served. `users` maps names to bcrypt hashes; `files` are all that the configuration was read from."""

    users: Mapping[str, bytes]
    headers: tuple[tuple[str, str], ...] = ()
    tls: ssl.SSLContext | None = None
    files: tuple[Path, ...] = ()


NO_WEB_CONFIG = WebConfig(users={})


def load_web_config(path: Path) -> WebConfig:
    """The configuration in the file, with its certificates loaded; relative paths start at the file's folder.

    Raises:
        SettingsError: something is wrong; it lists every mistake.
    """
    return _Reading(path).result()


class _Reading:
    """Reads one file and collects its mistakes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._problems: list[str] = []
        self._files: list[Path] = [path]

    def result(self) -> WebConfig:
        sections = self._mapping(self._root(), "", _SECTIONS)
        headers, users = (
            self._headers(self._mapping(sections.get("http_server_config"), "http_server_config", _HTTP_KEYS)),
            self._users(sections.get("basic_auth_users")),
        )
        tls = self._tls(self._mapping(sections.get("tls_server_config"), "tls_server_config", _TLS_KEYS))
        if self._problems:
            raise SettingsError(self._problems)
        return WebConfig(users=users, headers=headers, tls=tls, files=tuple(self._files))

    def _problem(self, label: str, sentence: str) -> None:
        self._problems.append(f"{self._path}: {label}: {sentence}" if label else f"{self._path}: {sentence}")

    def _root(self) -> yaml.Node | None:
        try:
            return parse(self._path.read_bytes(), str(self._path))
        except OSError as exc:
            self._problem("", f"cannot read it: {exc.strerror or exc}")
        except ValueError as exc:
            self._problems.append(str(exc))
        return None

    def _mapping(self, node: yaml.Node | None, label: str, known: tuple[str, ...] | None) -> dict[str, yaml.Node]:
        """The entries of a section; `known` None means that its keys are free."""
        if node is None or is_null(node):
            return {}
        if not isinstance(node, yaml.MappingNode):
            self._problem(label, "keys and values are expected here, in the form KEY: VALUE")
            return {}
        found: dict[str, yaml.Node] = {}
        for key, value, problem in entries(node, lambda key: f"{self._path}: {_join(label, key)}"):
            if problem:
                self._problems.append(problem)
            elif known is not None and key in _UNSUPPORTED and key not in known:
                self._problem(_join(label, key), f"it is not supported, {_UNSUPPORTED[key]}")
            elif known is not None and key not in known:
                self._problem(_join(label, key), f"there is no such key{did_you_mean(key, known)}")
            elif known is None or not is_null(value):
                found[key] = value
        return found

    def _text(self, node: yaml.Node | None, label: str) -> str | None:
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        self._problem(label, "one value is expected")
        return None

    def _boolean(self, node: yaml.Node | None, label: str) -> None:
        text = self._text(node, label)
        if text is not None:
            try:
                boolean(text)
            except ValueError as exc:
                self._problem(label, str(exc))

    def _word(self, nodes: Mapping[str, yaml.Node], key: str, allowed: Mapping[str, object], default: str) -> str:
        text = self._text(nodes.get(key), f"tls_server_config.{key}")
        if text is None or text in allowed:
            return text or default
        self._problem(f"tls_server_config.{key}", f"{quoted(text)} is not one of {', '.join(allowed)}")
        return default

    def _file(self, nodes: Mapping[str, yaml.Node], key: str) -> Path | None:
        text = self._text(nodes.get(key), f"tls_server_config.{key}")
        if not text:
            return None
        path = self._path.parent / text
        try:
            self._files.append(readable_file(str(path)))
        except ValueError as exc:
            self._problem(f"tls_server_config.{key}", str(exc))
        return path

    def _tls(self, nodes: dict[str, yaml.Node]) -> ssl.SSLContext | None:
        if not nodes:
            return None
        before = len(self._problems)
        cert, key, ca = (self._file(nodes, name) for name in ("cert_file", "key_file", "client_ca_file"))
        for name, path in (("cert_file", cert), ("key_file", key)):
            if path is None:
                self._problem(f"tls_server_config.{name}", "it is missing, TLS needs both cert_file and key_file")
        auth = self._word(nodes, "client_auth_type", CLIENT_AUTH_TYPES, "NoClientCert")
        low = self._word(nodes, "min_version", VERSIONS, "TLS12")
        high = self._word(nodes, "max_version", VERSIONS, "TLS13")
        if VERSIONS[low] > VERSIONS[high]:
            self._problem("tls_server_config.min_version", f"{low} is above max_version {high}")
        self._client_auth(auth, ca)
        suites = self._suites(nodes.get("cipher_suites"))
        self._boolean(nodes.get("prefer_server_cipher_suites"), "tls_server_config.prefer_server_cipher_suites")
        if cert is None or key is None or len(self._problems) > before:
            return None
        settings = TlsSettings(
            cert_file=cert,
            key_file=key,
            client_auth_type=auth,
            client_ca_file=ca,
            min_version=low,
            max_version=high,
            cipher_suites=suites,
        )
        try:
            return server_context(settings)
        except ValueError as exc:
            self._problem("tls_server_config", str(exc))
            return None

    def _client_auth(self, auth: str, ca: Path | None) -> None:
        verifies = CLIENT_AUTH_TYPES[auth] != ssl.CERT_NONE
        if verifies and ca is None:
            self._problem("tls_server_config.client_auth_type", f"{auth} needs client_ca_file as well")
        if ca is not None and not verifies:
            self._problem(
                "tls_server_config.client_ca_file",
                f"client_auth_type {auth} verifies nothing, write RequireAndVerifyClientCert",
            )

    def _suites(self, node: yaml.Node | None) -> tuple[str, ...]:
        label = "tls_server_config.cipher_suites"
        if node is None:
            return ()
        if not isinstance(node, yaml.SequenceNode):
            self._problem(label, "a list of names is expected")
            return ()
        names = [text for item in node.value if (text := self._text(item, label)) is not None]
        for name in names:
            if name not in CIPHER_SUITES:
                self._problem(
                    label, f"{quoted(name)} is not a cipher suite that is supported{did_you_mean(name, CIPHER_SUITES)}"
                )
        return tuple(names)

    def _headers(self, nodes: dict[str, yaml.Node]) -> tuple[tuple[str, str], ...]:
        self._boolean(nodes.get("http2"), "http_server_config.http2")
        label = "http_server_config.headers"
        headers: list[tuple[str, str]] = []
        for name, node in self._mapping(nodes.get("headers"), label, tuple(_HEADERS)).items():
            value = self._text(node, f"{label}.{name}")
            if not value:
                continue
            allowed = _HEADERS[name]
            if allowed and value not in allowed:
                self._problem(f"{label}.{name}", f"{quoted(value)} is not one of {', '.join(allowed)}")
            elif not (value.isascii() and value.isprintable()):
                self._problem(f"{label}.{name}", "a header is one line of ASCII")
            headers.append((name, value))
        return tuple(headers)

    def _users(self, node: yaml.Node | None) -> dict[str, bytes]:
        users: dict[str, bytes] = {}
        for name, value in self._mapping(node, "basic_auth_users", None).items():
            label = f"basic_auth_users.{quoted_name(name)}"
            text = self._text(value, label)
            if not name or ":" in name:
                self._problem(label, 'a user name is not empty and holds no ":"')
            if text is not None and not _BCRYPT.fullmatch(text):
                self._problem(label, "its value is no bcrypt hash, make one with: htpasswd -nBC 10 USER")
            users[name] = (text or "").encode()
        return users


def _join(head: str, tail: str) -> str:
    return f"{head}.{tail}" if head else tail
