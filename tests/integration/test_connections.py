"""Each way to connect to one Redis, as a person would configure it, and each way to be turned away."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import pytest
from rig.certificates import make_certificates
from rig.child import wait_until
from rig.log import up
from rig.plain import waiting, write_queue
from rig.scrape import exporting, once, parse
from rig.servers import TLS_KIND, ServerOptions, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rig.certificates import Certificates
    from rig.scrape import Exporter
    from rig.servers import Server

USER = "wat/ch@er"
PASSWORD = "p@ss:w/rd%?é"  # noqa: S105 - of throw-away servers
DEFAULT_PASSWORD = "öf all & nobody"  # noqa: S105 - as above
WRONG = "n0t-the-password"
USERS = (f"{USER} on >{PASSWORD} ~* +@all",)
ZERO = {"bull:zero": 1.0}
THREE = {"bull:three": 3.0}

SHOWN = {
    "plain": ZERO,
    "database-in-url": THREE,
    "database-wins-over-url": THREE,
    "unix": ZERO,
    "unix-database": THREE,
    "unix-login": THREE,
    "login-in-url": ZERO,
    "password-in-url": ZERO,
    "login-in-settings": THREE,
    "login-wins-over-url": ZERO,
    "password-in-file": THREE,
    "tls-own-authority": ZERO,
    "tls-client-certificate": THREE,
    "tls-skip-verification": ZERO,
}
TURNED_AWAY = {
    "tls-wrong-authority": ("unreachable", "certificate verify failed", "check address, port and TLS"),
    "tls-no-authority": ("unreachable", "certificate verify failed", "check address, port and TLS"),
    "tls-no-client-certificate": ("unreachable", "check address, port and TLS"),
    "tls-to-a-plain-port": ("timeout", "one side speaks TLS and the other does not"),
    "plain-to-a-tls-port": ("unreachable", "check address, port and TLS"),
    "wrong-password": ("refused", "invalid username-password pair", "check the user, the password and the ACL"),
    "wrong-password-in-url": ("refused", "invalid username-password pair", "check the user, the password and the ACL"),
    "wrong-password-on-a-socket": ("refused", "invalid username-password pair"),
    "no-password": ("refused", "Authentication required", "check the user, the password and the ACL"),
    "no-such-database": ("refused", "DB index is out of range"),
    "nobody-there": ("unreachable", "Connect call failed", "check address, port and TLS"),
    "no-such-socket": ("unreachable", "No such file"),
}


class Servers(NamedTuple):
    """One of each kind: open, with logins, with TLS, with TLS for those who show a certificate; and none."""

    plain: Server
    guarded: Server
    tls: Server
    strict: Server
    nowhere: str


@pytest.fixture(scope="module")
def places(certificates: Certificates) -> Iterator[Servers]:
    with contextlib.ExitStack() as stack:
        start = lambda *args: stack.enter_context(running(*args))  # noqa: E731 - four servers on four lines
        places = Servers(
            plain=start(),
            guarded=start("valkey-9", ServerOptions(password=DEFAULT_PASSWORD, users=USERS)),
            tls=start(TLS_KIND, ServerOptions(certificates=certificates)),
            strict=start(TLS_KIND, ServerOptions(certificates=certificates, client_certificate_required=True)),
            nowhere="redis://127.0.0.1:1",
        )
        for server in places[:-1]:
            for database, queue, jobs in ((0, "zero", 1), (3, "three", 3)):
                with server.client(db=database) as client:
                    write_queue(client, queue, waiting=jobs)
        yield places


def _targets(places: Servers, certificates: Certificates, others: Certificates, file: Path) -> dict[str, object]:
    """The settings of each target under its alias."""
    plain, guarded, tls, strict, nowhere = places
    login = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}"
    wrong_login = f"{quote(USER, safe='')}:{WRONG}"
    trust = {"tls-ca-cert-file": str(certificates.ca_certificate)}
    shown = {
        "tls-client-cert-file": str(certificates.client_certificate),
        "tls-client-key-file": str(certificates.client_key),
    }
    redis: dict[str, dict[str, object]] = {
        "plain": {"url": f"redis://{plain.address}"},
        "database-in-url": {"url": f"redis://{plain.address}/3"},
        "database-wins-over-url": {"url": f"redis://{plain.address}/7", "database": 3},
        "unix": {"url": f"unix://{plain.socket_path}"},
        "unix-database": {"url": f"unix://{plain.socket_path}?db=3"},
        "unix-login": {"url": f"unix://{login}@{guarded.socket_path}?db=3"},
        "login-in-url": {"url": f"redis://{login}@{guarded.address}"},
        "password-in-url": {"url": f"redis://:{quote(DEFAULT_PASSWORD)}@{guarded.address}/0"},
        "login-in-settings": {"url": f"redis://{guarded.address}/3", "user": USER, "password": PASSWORD},
        "login-wins-over-url": {"url": f"redis://x:y@{guarded.address}", "user": USER, "password": PASSWORD},
        "password-in-file": {"url": f"redis://{guarded.address}/3", "password-file": str(file)},
        "tls-own-authority": {"url": f"rediss://{tls.address}", **trust},
        "tls-client-certificate": {"url": f"rediss://{strict.address}/3", **trust, **shown},
        "tls-skip-verification": {"url": f"rediss://{tls.address}", "tls-skip-verification": True},
        "tls-wrong-authority": {"url": f"rediss://{tls.address}", "tls-ca-cert-file": str(others.ca_certificate)},
        "tls-no-authority": {"url": f"rediss://{tls.address}"},
        "tls-no-client-certificate": {"url": f"rediss://{strict.address}", **trust},
        "tls-to-a-plain-port": {"url": f"rediss://{plain.address}", **trust},
        "plain-to-a-tls-port": {"url": f"redis://{tls.address}"},
        "wrong-password": {"url": f"redis://{guarded.address}", "user": USER, "password": WRONG},
        "wrong-password-in-url": {"url": f"redis://{wrong_login}@{guarded.address}"},
        "wrong-password-on-a-socket": {"url": f"unix://{wrong_login}@{guarded.socket_path}"},
        "no-password": {"url": f"redis://{guarded.address}"},
        "no-such-database": {"url": f"redis://{plain.address}/99"},
        "nobody-there": {"url": nowhere},
        "no-such-socket": {"url": f"unix://{plain.socket_path}.none"},
    }
    return {alias: {"redis": settings} for alias, settings in redis.items()}


@pytest.fixture(scope="module")
def exporter(
    places: Servers, certificates: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Exporter]:
    """One exporter with a target for each way; YAML reads JSON."""
    folder = tmp_path_factory.mktemp("connections")
    (folder / "others").mkdir()
    password = folder / "password"
    password.write_text(f"{DEFAULT_PASSWORD}\n", encoding="utf-8")
    targets = _targets(places, certificates, make_certificates(folder / "others"), password)
    settings = folder / "settings.yml"
    settings.write_text(json.dumps({"targets": targets}), encoding="utf-8")
    with exporting("--config.file", str(settings), ready=False) as exporter:
        yield exporter


@pytest.fixture(scope="module")
def lines(exporter: Exporter) -> dict[str, str]:
    """What the log says about each target that turns us away, when all of them were asked at least once."""
    for alias in TURNED_AWAY:
        exporter.samples(f"/scrape?target={alias}")
    told = _log(exporter).splitlines()
    return {
        alias: "\n".join(line for line in told if f"target={alias} " in line and "redis cannot be read" in line)
        for alias in TURNED_AWAY
    }


def _log(exporter: Exporter) -> str:
    """All of it; `Child.log` shows the end only."""
    return Path(exporter.child._log.name).read_text(encoding="utf-8")  # noqa: SLF001 - the rig has no other way to all of it


@pytest.mark.parametrize("alias", SHOWN)
def test_the_queues_are_shown(exporter: Exporter, alias: str) -> None:
    path = f"/scrape?target={alias}"
    wait_until(lambda: bool(waiting(exporter.samples(path))), f"{alias} to show its queue")

    samples = exporter.samples(path)
    assert waiting(samples) == SHOWN[alias]
    assert up(samples) == 1


@pytest.mark.parametrize("alias", TURNED_AWAY)
def test_who_is_turned_away_learns_why(exporter: Exporter, lines: dict[str, str], alias: str) -> None:
    reason, *words = TURNED_AWAY[alias]
    samples = exporter.samples(f"/scrape?target={alias}")

    assert up(samples) == 0
    assert waiting(samples) == {}
    assert lines[alias].count("\n") == 0, "one line, however often it is asked"
    assert f"reason={reason} " in lines[alias]
    assert [word for word in words if word not in lines[alias]] == []


def test_no_password_is_logged(exporter: Exporter, lines: dict[str, str]) -> None:
    log = _log(exporter)

    assert all(lines.values())
    secrets = (WRONG, PASSWORD, DEFAULT_PASSWORD)
    assert [secret for secret in secrets if secret in log or quote(secret, safe="") in log] == []


def test_flags_and_environment(places: Servers) -> None:
    login = {"QOBSERVE_REDIS_USER": USER, "QOBSERVE_REDIS_PASSWORD": PASSWORD}
    done = once(f"redis://{places.guarded.address}/0", "--redis.database", "3", env=login)

    assert (done.code, done.errors) == (0, "")
    assert waiting(parse(done.text)) == THREE


def test_wrong_password_once(places: Servers) -> None:
    done = once(f"redis://{places.guarded.address}/0", env={"QOBSERVE_REDIS_PASSWORD": WRONG})

    assert done.code == 1
    assert up(parse(done.text)) == 0
    assert "reason=refused" in done.errors
    assert WRONG not in done.errors
