"""The HTTP server on real sockets, round a scraper that tells what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import shutil
import socket
import ssl
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import bcrypt
import httpx
import pytest
from rig.certificates import make_certificates

from qobserve.config import WebSettings
from qobserve.errors import QobserveError, SettingsError
from qobserve.server.auth import Gate
from qobserve.server.http import Pages
from qobserve.server.listen import HttpServer, bind, shown_address
from qobserve.server.live import LiveWebConfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from rig.certificates import Certificates

ALICE = bcrypt.hashpw(b"wonder", bcrypt.gensalt(4)).decode()
BODY = b"metric 1\n" * 1000


@dataclass(frozen=True, slots=True)
class Answer:
    """A scrape."""

    body: bytes
    content_type: str


@dataclass
class AskedScraper:
    """Remembers what it was asked for; its answer waits for `open`."""

    asked: list[tuple[str | None, float, str]] = field(default_factory=list)
    is_ready: bool = True
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event | None = None
    body: bytes = BODY

    async def scrape(self, alias: str | None, *, timeout: float, accept: str) -> Answer:  # noqa: ASYNC109 - the server's contract
        self.asked.append((alias, timeout, accept))
        self.begun.set()
        if self.open is not None:
            await self.open.wait()
        return Answer(self.body, "text/plain; version=0.0.4; charset=utf-8")

    def ready(self) -> bool:
        return self.is_ready

    def aliases(self) -> tuple[str, ...]:
        return ("default", "eu")


@dataclass
class Running:
    """A server that is being served."""

    scraper: AskedScraper
    server: HttpServer
    sockets: list[socket.socket]
    serving: asyncio.Task[None]
    reloads: list[str]

    @property
    def address(self) -> str:
        return shown_address(self.sockets[0])


@asynccontextmanager
async def serving(web_config: Path | None = None, web: WebSettings | None = None) -> AsyncIterator[Running]:
    scraper, reloads = AskedScraper(), []
    settings = web or WebSettings()
    live = LiveWebConfig(web_config)

    async def reload() -> None:
        if reloads:
            raise SettingsError(["--a: wrong", "--b: wrong"])
        reloads.append("done")

    sockets = bind(["127.0.0.1:0"])
    server = HttpServer(Gate(Pages(scraper, lambda: settings, reload).app(), live), live, sockets)
    running = Running(scraper, server, sockets, asyncio.create_task(server.serve()), reloads)
    try:
        yield running
    finally:
        server.stop()
        await asyncio.wait_for(running.serving, 10)


def client(running: Running, **options: object) -> httpx.AsyncClient:
    scheme = "https" if "verify" in options else "http"
    return httpx.AsyncClient(base_url=f"{scheme}://{running.address}", **options)  # type: ignore[arg-type]


async def test_metrics_and_scrape_hand_on_what_prometheus_says() -> None:
    web = WebSettings(telemetry_path="/m", timeout_offset=0.25)
    async with serving(web=web) as running, client(running) as http:
        headers = {"X-Prometheus-Scrape-Timeout-Seconds": "3", "Accept": "application/openmetrics-text"}
        assert (await http.get("/m", headers=headers)).content == BODY
        response = await http.get("/scrape?target=eu", headers={"Accept": "*/*"})
        assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert running.scraper.asked == [(None, 2.75, "application/openmetrics-text"), ("eu", 10.0, "*/*")]
        assert (await http.get("/metrics")).status_code == 404


async def test_gzip_when_asked_for() -> None:
    async with serving() as running, client(running) as http:
        packed = await http.get("/metrics", headers={"Accept-Encoding": "gzip"})
        plain = await http.get("/metrics", headers={"Accept-Encoding": "identity"})
    assert packed.content == plain.content == BODY
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(BODY) / 10
    assert "content-encoding" not in plain.headers
    assert packed.headers["vary"] == plain.headers["vary"] == "Accept, Accept-Encoding"


async def test_one_page_is_compressed_once_and_in_the_time_of_the_scrape(monkeypatch: pytest.MonkeyPatch) -> None:
    compress, packed = gzip.compress, []

    def slowly(body: bytes, level: int) -> bytes:
        packed.append(body)
        time.sleep(0.2)
        return compress(body, level)

    monkeypatch.setattr(gzip, "compress", slowly)
    async with serving() as running, client(running) as http:
        answers = await asyncio.gather(*(http.get("/metrics") for _ in range(10)))
        for seconds in ("2.5", "0.6"):
            await http.get("/metrics", headers={"X-Prometheus-Scrape-Timeout-Seconds": seconds})
        await http.get("/metrics", headers={"Accept-Encoding": "identity"})
    assert {answer.content for answer in answers} == {BODY}
    assert len(packed) == 1
    *_, most, least, unpacked = (timeout for _, timeout, _ in running.scraper.asked)
    assert 1 <= most <= 1.8
    assert least == pytest.approx(0.05)
    assert unpacked == 10.0


@pytest.mark.parametrize("path", ["/", "/metrics", "/scrape?target=eu", "/-/healthy", "/-/ready", "/discover"])
async def test_head_gives_the_headers_of_get(path: str) -> None:
    async with serving() as running, client(running) as http:
        head, get = await http.head(path), await http.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert {k: v for k, v in head.headers.items() if k != "date"} == {
        k: v for k, v in get.headers.items() if k != "date"
    }


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "the parameter target is missing; the targets are: default, eu\n"),
        ("?target=", "the parameter target is missing; the targets are: default, eu\n"),
        ("?target=us", "there is no such target; the targets are: default, eu\n"),
        ("?target=redis://10.0.0.1", "there is no such target; the targets are: default, eu\n"),
    ],
)
async def test_a_target_is_an_alias_and_nothing_else(query: str, text: str) -> None:
    async with serving() as running, client(running) as http:
        response = await http.get(f"/scrape{query}")
        assert (response.status_code, response.text, running.scraper.asked) == (400, text, [])


async def test_health_and_readiness() -> None:
    async with serving() as running, client(running) as http:
        assert (await http.get("/-/ready")).status_code == 200
        running.scraper.is_ready = False
        assert (await http.get("/-/ready")).status_code == 503
        assert (await http.get("/-/healthy")).status_code == 200


async def test_reload_is_a_write_and_tells_every_mistake() -> None:
    async with serving() as running, client(running) as http:
        assert (await http.get("/-/reload")).status_code == 405
        assert running.reloads == []
        good, bad = await http.post("/-/reload"), await http.put("/-/reload")
    assert (good.status_code, good.text) == (200, "Configuration reloaded.\n")
    assert (bad.status_code, bad.text) == (500, "--a: wrong\n--b: wrong\n")


async def test_discovery_lists_every_target_at_this_address() -> None:
    async with serving() as running, client(running) as http:
        response = await http.get("/discover")
        named = await http.get("/discover", headers={"Host": "metrics.example"})
        address = running.address
    assert response.headers["content-type"] == "application/json"
    assert response.json() == [
        {
            "targets": [address],
            "labels": {"__metrics_path__": "/scrape", "__param_target": alias, "bullmq_target": alias},
        }
        for alias in ("default", "eu")
    ]
    assert named.json()[0]["targets"] == ["metrics.example:80"]


async def test_the_landing_page_has_its_policy() -> None:
    async with serving() as running, client(running) as http:
        response = await http.get("/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert 'href="/scrape?target=eu"' in response.text


async def test_a_running_request_is_answered_before_the_end() -> None:
    async with serving() as running, client(running) as http:
        running.scraper.open = asyncio.Event()
        request = asyncio.create_task(http.get("/metrics"))
        await running.scraper.begun.wait()
        running.server.stop()
        await asyncio.sleep(0)
        running.scraper.open.set()
        assert (await request).content == BODY
        await asyncio.wait_for(running.serving, 10)
        with pytest.raises(httpx.ConnectError):
            await http.get("/metrics")


def written(path: Path, text: str) -> Path:
    """Write a file in a way that changes its identity, as an editor or a mounted secret does."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)  # noqa: PTH105 - Path.replace is the same; this is how tools do it
    return path


async def test_users_are_asked_for_their_password_on_every_page(tmp_path: Path) -> None:
    headers = "http_server_config: {headers: {X-Frame-Options: deny}}\n"
    web = written(tmp_path / "web.yml", f"basic_auth_users: {{alice: {ALICE}}}\n{headers}")
    async with serving(web) as running, client(running) as http:
        for path in ("/", "/metrics", "/-/healthy", "/-/ready", "/discover", "/nowhere"):
            refused = await http.get(path)
            assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Basic")
            assert refused.headers["x-frame-options"] == "deny"
            assert (await http.get(path, auth=("alice", "wrong"))).status_code == 401
            assert (await http.get(path, auth=("eve", "wonder"))).status_code == 401
            allowed = await http.get(path, auth=("alice", "wonder"))
            assert allowed.status_code == (404 if path == "/nowhere" else 200)
            assert allowed.headers["x-frame-options"] == "deny"
        assert (await http.post("/-/reload")).status_code == 401
        assert running.reloads == []


async def test_changed_users_count_at_once_and_a_broken_file_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    web = written(tmp_path / "web.yml", f"basic_auth_users: {{alice: {ALICE}}}")
    async with serving(web) as running, client(running) as http:
        assert (await http.get("/metrics", auth=("alice", "wonder"))).status_code == 200
        written(web, f"basic_auth_users: {{bob: {ALICE}}}")
        assert (await http.get("/metrics", auth=("alice", "wonder"))).status_code == 401
        assert (await http.get("/metrics", auth=("bob", "wonder"))).status_code == 200
        written(web, "basic_auth_users: {bob: plain, eve: plain}")
        assert (await http.get("/metrics", auth=("bob", "wonder"))).status_code == 200
        assert (await http.get("/metrics")).status_code == 401
        web.unlink()
        assert (await http.get("/metrics")).status_code == 401
    told = [record.__dict__["error"] for record in caplog.records if record.levelname == "ERROR"]
    assert [error.removeprefix(str(web)) for error in told] == [
        ': basic_auth_users."bob": its value is no bcrypt hash, make one with: htpasswd -nBC 10 USER',
        ': basic_auth_users."eve": its value is no bcrypt hash, make one with: htpasswd -nBC 10 USER',
        ": cannot read it: No such file or directory",
    ]


def trusting(*authorities: Path) -> ssl.SSLContext:
    context = ssl.create_default_context()
    for authority in authorities:
        context.load_verify_locations(authority)
    return context


def install(certificates: Certificates, folder: Path) -> None:
    shutil.copy(certificates.server_certificate, folder / "server.pem")
    shutil.copy(certificates.server_key, folder / "server.key")


async def test_a_new_certificate_is_shown_to_the_next_connection(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("served", "old", "new")]
    for folder in folders:
        folder.mkdir()
    served, old, new = folders[0], make_certificates(folders[1]), make_certificates(folders[2])
    install(old, served)
    web = written(served / "web.yml", "tls_server_config: {cert_file: server.pem, key_file: server.key}")
    async with serving(web) as running:
        async with client(running, verify=trusting(old.ca_certificate)) as http:
            assert (await http.get("/metrics")).status_code == 200
            entry = (await http.get("/discover")).json()[0]
            assert entry["labels"]["__scheme__"] == "https"
            install(new, served)
            assert (await http.get("/metrics")).status_code == 200  # on the old connection
        async with client(running, verify=trusting(new.ca_certificate)) as http:
            assert (await http.get("/metrics")).status_code == 200
        async with client(running, verify=trusting(old.ca_certificate)) as http:
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                await http.get("/metrics")
        # Half of a change: the key does not belong to the certificate. The last good pair stays.
        shutil.copy(old.server_key, served / "server.key")
        async with client(running, verify=trusting(new.ca_certificate)) as http:
            assert (await http.get("/metrics")).status_code == 200


async def test_clients_must_show_a_certificate_when_they_are_told_to(
    tmp_path: Path, certificates: Certificates
) -> None:
    install(certificates, tmp_path)
    tls = (
        "{cert_file: server.pem, key_file: server.key, min_version: TLS13, "
        f"client_auth_type: RequireAndVerifyClientCert, client_ca_file: {certificates.ca_certificate}}}"
    )
    web = written(tmp_path / "web.yml", f"tls_server_config: {tls}")
    async with serving(web) as running:
        stranger, known, old = (trusting(certificates.ca_certificate) for _ in range(3))
        known.load_cert_chain(certificates.client_certificate, certificates.client_key)
        old.load_cert_chain(certificates.client_certificate, certificates.client_key)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        async with client(running, verify=known) as http:
            assert (await http.get("/metrics")).status_code == 200
        for context in (stranger, old):
            async with client(running, verify=context) as http:
                with pytest.raises(httpx.TransportError):
                    await http.get("/metrics")


async def test_tls_cannot_be_switched_off_while_it_runs(
    tmp_path: Path, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    install(certificates, tmp_path)
    web = written(tmp_path / "web.yml", "tls_server_config: {cert_file: server.pem, key_file: server.key}")
    async with serving(web) as running, client(running, verify=trusting(certificates.ca_certificate)) as http:
        assert (await http.get("/metrics")).status_code == 200
        written(web, f"basic_auth_users: {{alice: {ALICE}}}")
        assert (await http.get("/metrics")).status_code == 401
        async with client(running, verify=trusting(certificates.ca_certificate)) as newcomer:
            assert (await newcomer.get("/metrics", auth=("alice", "wonder"))).status_code == 200
    assert "switching TLS on or off needs a restart" in [record.message for record in caplog.records]


@asynccontextmanager
async def idle_client(
    running: Running, tls: ssl.SSLContext | None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection that was served once and neither closes nor answers when it is being closed."""
    host, port = running.address.split(":")
    name = "localhost" if tls else None
    reader, writer = await asyncio.open_connection(host, int(port), ssl=tls, server_hostname=name)
    writer.write(b"GET /-/healthy HTTP/1.1\r\nHost: h\r\n\r\n")
    assert b"healthy" in await reader.readuntil(b"healthy.\n")
    # A client that does not read does not see that it is asked to close.
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


@pytest.mark.parametrize("tls", [False, True])
async def test_an_idle_connection_holds_up_no_end(
    tls: bool,  # noqa: FBT001 - the one parameter of the test
    tmp_path: Path,
    certificates: Certificates,
    caplog: pytest.LogCaptureFixture,
) -> None:
    install(certificates, tmp_path)
    web = written(tmp_path / "web.yml", "tls_server_config: {cert_file: server.pem, key_file: server.key}")
    trust = trusting(certificates.ca_certificate) if tls else None
    async with serving(web if tls else None) as running, idle_client(running, trust):
        running.server.stop()
        await asyncio.wait_for(running.serving, 2)
    assert caplog.records == []


async def test_a_slow_client_gets_its_whole_answer_before_the_end(tmp_path: Path, certificates: Certificates) -> None:
    install(certificates, tmp_path)
    web = written(tmp_path / "web.yml", "tls_server_config: {cert_file: server.pem, key_file: server.key}")
    trust = trusting(certificates.ca_certificate)
    async with serving(web) as running, idle_client(running, trust) as (reader, writer):
        running.scraper.body = b"x" * 20_000_000
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: h\r\nAccept-Encoding: identity\r\n\r\n")
        await running.scraper.begun.wait()
        running.server.stop()
        # Longer than it takes to give up a client that has been sent everything.
        done, _ = await asyncio.wait({running.serving}, timeout=1)
        assert not done
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"content-length: 20000000" in head
        assert len(await reader.readexactly(20_000_000)) == 20_000_000
        await asyncio.wait_for(running.serving, 3)


async def test_an_answer_that_is_not_taken_is_cut_off_after_the_grace(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as running, idle_client(running, None) as (_, writer):
        running.scraper.body = b"x" * 50_000_000
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
        await running.scraper.begun.wait()
        running.server.stop()
        await asyncio.wait_for(running.serving, 10)
    assert "answers were cut off at the end" in [record.message for record in caplog.records]
    assert "Cancel 0 running" not in caplog.text


def test_addresses_that_are_listened_on() -> None:
    sockets = bind(["127.0.0.1:0", ":0", "localhost:0"])
    try:
        shown = [shown_address(listening).rpartition(":")[0] for listening in sockets]
        assert shown[0] == "127.0.0.1"
        assert shown[1] in {"[::]", "0.0.0.0"}  # noqa: S104 - what ":0" means
        assert shown[2] == "127.0.0.1"
        port = sockets[1].getsockname()[1]
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, port), 5).close()
    finally:
        for listening in sockets:
            listening.close()


@pytest.mark.parametrize("form", ["127.0.0.1:{port}", ":{port}"])
def test_a_port_in_use_is_told_and_leaves_no_socket_open(form: str) -> None:
    (taken,) = bind(["127.0.0.1:0"])
    with contextlib.closing(taken):
        address = form.format(port=taken.getsockname()[1])
        # An unclosed socket of the first address would raise a ResourceWarning, which is an error here.
        with pytest.raises(
            QobserveError, match=rf"^cannot listen on {address}: address already in use; choose another"
        ):
            bind(["127.0.0.1:0", address])


def test_a_host_that_is_not_ours_is_told() -> None:
    with pytest.raises(QobserveError, match=r"^cannot listen on 192\.0\.2\.1:0: cannot assign requested address"):
        bind(["192.0.2.1:0"])
    with pytest.raises(QobserveError, match=r"^cannot listen on no\.invalid:0: "):
        bind(["no.invalid:0"])
