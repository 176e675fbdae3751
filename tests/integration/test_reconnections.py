"""Servers and passwords that change while the exporter runs, and a replica that is read by its own address."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
from rig.child import wait_until
from rig.log import up
from rig.plain import role, waiting, write_queue
from rig.scrape import exporting, once, parse
from rig.servers import ServerOptions, running

if TYPE_CHECKING:
    from pathlib import Path

    from rig.servers import Server


def test_a_changed_password_file_is_read_at_a_reload(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("first\r\n", encoding="utf-8")
    with running(options=ServerOptions(password="first")) as server, server.client() as client:  # noqa: S106 - of a throw-away server
        write_queue(client, "mail", waiting=2)
        flags = ("--redis.url", f"redis://{server.address}", "--redis.password-file", str(file))
        with exporting(*flags) as exporter:
            assert waiting(exporter.samples()) == {"bull:mail": 2}
            client.config_set("requirepass", "second")
            client.client_kill_filter(_type="normal", skipme=True)
            assert up(exporter.samples()) == 0

            file.write_text("second\n", encoding="utf-8")
            assert up(exporter.samples()) == 0, "files are read at a reload only"
            httpx.post(f"{exporter.url}/-/reload").raise_for_status()
            wait_until(lambda: waiting(exporter.samples()) == {"bull:mail": 2}, "the new password to be used")
            assert up(exporter.samples()) == 1


def test_a_restart_between_two_scrapes_is_not_seen_as_down() -> None:
    with running() as server:
        flags = ("--redis.url", server.url, "--no-discovery.enabled", "--queues.static", "mail")
        with exporting(*flags) as exporter:
            assert up(exporter.samples()) == 1
            server.kill()
            server.start()
            with server.client() as client:
                write_queue(client, "mail", waiting=5)

            samples = exporter.samples()
            assert up(samples) == 1
            assert waiting(samples) == {"bull:mail": 5}


def test_a_replica_knows_the_jobs_but_not_the_workers(server: Server) -> None:
    name = "bull:bWFpbA=="  # as a Node.js worker of the queue `mail` calls itself
    with (
        running(options=ServerOptions(replica_of=server)) as replica,
        server.client(client_name=name) as worker,
        replica.client() as follower,
    ):
        write_queue(worker, "mail", waiting=4)
        wait_until(lambda: follower.llen("bull:mail:wait") == 4, "the replica to follow")
        primary, second = (parse(once(one.url).text) for one in (server, replica))

    families = ("bullmq_queue_workers", "bullmq_queue_blocked")
    told = [{name for name, _ in samples if name in families} for samples in (primary, second)]
    assert [role(primary), role(second)] == ["master", "slave"]
    assert waiting(primary) == waiting(second) == {"bull:mail": 4}
    assert told == [set(families), {"bullmq_queue_blocked"}]
    reasons = {dict(labels)["reason"] for name, labels in second if name == "bullmq_queue_blocked"}
    assert "no_workers" not in reasons
