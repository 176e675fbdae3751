"""What goes together in one target, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.config.load import load_settings
from qobserve.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from rig.certificates import Certificates

SENTINEL = ["--redis.sentinel", "s1:26379", "--redis.sentinel-master", "m"]


def problems(*words: str, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(words, environ or {})
    return list(caught.value.problems)


def password(*words: str, environ: dict[str, str] | None = None) -> str | None:
    secret = load_settings(words, environ or {}).targets["default"].password
    return secret.get_secret_value() if secret else None


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            [*SENTINEL, "--redis.cluster"],
            "--redis.cluster: a cluster has no Sentinels, but --redis.sentinel names some",
        ),
        (
            ["--redis.sentinel", "s1"],
            "--redis.sentinel: the master's name is missing, set redis.sentinel-master as well",
        ),
        (
            ["--redis.sentinel-master", "m"],
            "--redis.sentinel-master: it is of use with Sentinels only, set redis.sentinel as well",
        ),
        (
            ["--redis.sentinel-user", "u"],
            "--redis.sentinel-user: it is of use with Sentinels only, set redis.sentinel as well",
        ),
        (
            ["--redis.read-from", "replica"],
            (
                "--redis.read-from: replicas are found through Sentinels or a cluster only; "
                "to read one replica, give its own address as redis.url"
            ),
        ),
        (
            [*SENTINEL, "--redis.url", "unix:///run/s"],
            "--redis.url: a unix socket is neither a cluster nor behind Sentinels",
        ),
        (["--redis.cluster", "--redis.database", "1"], "--redis.cluster: a cluster has the database 0 only"),
        (["--redis.cluster", "--redis.url=redis://h/1"], "--redis.cluster: a cluster has the database 0 only"),
        (
            ["--redis.tls-skip-verification"],
            "--redis.tls-skip-verification: it is of use with TLS only, and the URL does not begin with rediss://",
        ),
        (
            ["--no-discovery.enabled"],
            "--no-discovery.enabled: without discovery the queues must be listed, set queues.static",
        ),
    ],
)
def test_what_does_not_go_together_is_told(words: list[str], problem: str) -> None:
    assert problems(*words) == [problem]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--redis.sentinel", "a:0", "--redis.sentinel-master", "m", "--redis.read-from", "replica"], "redis.sentinel"),
        (["--redis.sentinel", "a", "--redis.sentinel-master="], "redis.sentinel-master"),
        (["--redis.cluster=maybe", "--redis.read-from", "replica"], "redis.cluster"),
        (["--redis.url=rediss://h:0", "--redis.tls-skip-verification"], "redis.url"),
        (["--no-discovery.enabled", "--queues.static", "a:"], "queues.static"),
        (["--redis.cluster", "--redis.url=redis://h/1", "--redis.database", "x"], "redis.database"),
        (["--redis.sentinel-master", "m", "--redis.sentinel"], "redis.sentinel"),
    ],
)
def test_nothing_follows_from_a_wrong_value(words: list[str], wrong: str) -> None:
    (told,) = problems(*words)
    assert told.startswith(f"--{wrong}: ")


@pytest.mark.parametrize(
    "words",
    [
        [*SENTINEL, "--redis.read-from", "replica"],
        ["--redis.cluster", "--redis.database", "0", "--redis.url=redis://h/1"],
        ["--no-discovery.enabled", "--queues.static", "mail"],
        ["--no-redis.tls-skip-verification"],
        ["--redis.url=rediss://h", "--redis.tls-skip-verification"],
    ],
)
def test_what_goes_together_is_taken(words: list[str]) -> None:
    assert load_settings(words, {}).targets["default"]


def test_client_certificates_are_looked_into(certificates: Certificates, tmp_path: Path) -> None:
    junk = tmp_path / "junk.pem"
    junk.write_text("junk")
    tls = ["--redis.url", "rediss://h"]
    cert, key = f"--redis.tls-client-cert-file={certificates.client_certificate}", "--redis.tls-client-key-file"
    assert load_settings([*tls, cert, f"{key}={certificates.client_key}"], {}).targets["default"].tls_client_key_file
    assert problems(*tls, cert) == [
        (
            "--redis.tls-client-cert-file: a client certificate and its key go together, "
            "set redis.tls-client-key-file as well"
        )
    ]
    assert problems(*tls, cert, f"{key}={certificates.server_key}") == [
        (
            f'--redis.tls-client-cert-file: "{certificates.client_certificate}" and "{certificates.server_key}" '
            "are not a certificate and its key in PEM form, the key without a passphrase"
        )
    ]
    assert problems(*tls, f"--redis.tls-ca-cert-file={junk}") == [
        f'--redis.tls-ca-cert-file: "{junk}" holds no certificates in PEM form'
    ]


def test_a_password_file_loses_one_line_end_only(tmp_path: Path) -> None:
    file = tmp_path / "password"
    for content, expected in (("pw\n", "pw"), ("pw\r\n", "pw"), ("pw", "pw"), (" p w \n\n", " p w \n"), ("ü\n", "ü")):
        file.write_bytes(content.encode())
        assert password("--redis.password-file", str(file)) == expected
    file.write_bytes(b"\n")
    assert problems("--redis.password-file", str(file)) == [f'--redis.password-file: "{file}" is empty']
    file.write_bytes(b"\xff")
    assert problems("--redis.password-file", str(file)) == [
        "--redis.password-file: cannot read the password as UTF-8 text: invalid start byte"
    ]


def test_of_a_password_and_a_password_file_the_higher_source_wins(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("from-file")
    direct = {"QOBSERVE_REDIS_PASSWORD": "direct"}
    assert password("--redis.password-file", str(file), environ=direct) == "from-file"
    config = tmp_path / "config.yml"
    config.write_text("redis: {password-file: password}")
    assert password("--config.file", str(config)) == "from-file"
    assert password("--config.file", str(config), environ=direct) == "direct"
    both = direct | {"QOBSERVE_REDIS_PASSWORD_FILE": str(file)}
    assert problems(environ=both) == [
        "QOBSERVE_REDIS_PASSWORD: QOBSERVE_REDIS_PASSWORD_FILE is given as well, keep one of the two"
    ]


def test_sentinels_have_a_password_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("for-sentinels\n")
    target = load_settings([*SENTINEL, "--redis.sentinel-password-file", str(file)], {}).targets["default"]
    assert target.password is None
    assert target.sentinel_password is not None
    assert target.sentinel_password.get_secret_value() == "for-sentinels"


def test_queues_are_let_through_by_name_and_by_prefix_and_name() -> None:
    words = ["--queues.include", "mail*", "--queues.include", "a:b:*", "--queues.exclude", "*-test"]
    queues = load_settings(words, {}).targets["default"].queues
    asked = [("bull", "mail"), ("bull", "sms"), ("a:b", "sms"), ("bull", "mail-test"), ("bull", "Mail")]
    assert [queues.wanted(*queue) for queue in asked] == [True, False, True, False, False]
