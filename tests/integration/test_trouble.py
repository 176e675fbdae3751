"""Whatever befalls Redis, the exporter answers in time and says so; it tells the log once, and recovers by itself."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import httpx
import pytest
import redis
from rig.child import wait_until
from rig.log import failed_collectors, logged, scrape, up
from rig.scrape import exporting, key
from rig.servers import ServerOptions, running
from rig.specimen import plant

if TYPE_CHECKING:
    from pathlib import Path

    from rig.scrape import Exporter

WAITING = key("bullmq_queue_jobs", prefix="bull", queue="q", state="waiting")
RIGHT = "right"
SOON = ("--discovery.interval", "1s")


def in_trouble(exporter: Exporter, reason: str, *, path: str = "/metrics") -> None:
    """The scrapes say so, one line in the log says why, and the exporter lives."""
    for _ in range(2):
        samples = scrape(exporter, path)
        assert up(samples) == 0
        assert WAITING not in samples
    assert len(logged(exporter, "level=error", "redis cannot be read", f"reason={reason}")) == 1
    assert exporter.get("/-/healthy").status_code == 200


def well_again(exporter: Exporter, *, path: str = "/metrics") -> None:
    """The scrapes come to show the queue again, and one line in the log says so."""
    wait_until(lambda: scrape(exporter, path).get(WAITING) == 2, "the queue to be shown", timeout=20, poll=0.2)
    samples = scrape(exporter, path)
    assert up(samples) == 1
    assert failed_collectors(samples) == set()
    assert len(logged(exporter, "redis can be read again")) == len(logged(exporter, "redis cannot be read")) == 1


def test_redis_is_down_at_the_start_and_later_again() -> None:
    with running() as server:
        server.kill()
        with exporting("--redis.url", server.url, *SOON, ready=False) as exporter:
            in_trouble(exporter, "unreachable")
            assert exporter.get("/-/ready").status_code == 503
            server.start()
            with server.client() as client:
                plant(client, "q")
            well_again(exporter)
            server.kill()
            assert up(scrape(exporter)) == up(scrape(exporter)) == 0
            assert exporter.get("/-/ready").status_code == 200
            assert len(logged(exporter, "redis cannot be read", "reason=unreachable")) == 2
            server.start()
            with server.client() as client:
                plant(client, "q")
            wait_until(lambda: scrape(exporter).get(WAITING) == 2, "the queue to be shown", timeout=20, poll=0.2)
            assert len(logged(exporter, "redis can be read again")) == 2


def test_the_password_is_wrong_until_it_is_reloaded(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("wrong")
    with running(options=ServerOptions(password=RIGHT)) as server, server.client() as client:
        plant(client, "q")
        with exporting(
            "--redis.url", f"redis://{server.address}", "--redis.password-file", str(file), *SOON, ready=False
        ) as exporter:
            in_trouble(exporter, "refused")
            file.write_text(f"{RIGHT}\n")
            assert httpx.post(f"{exporter.url}/-/reload").status_code == 200
            wait_until(lambda: scrape(exporter).get(WAITING) == 2, "the queue to be shown", timeout=20, poll=0.2)
            assert "wrong" not in exporter.child.log().replace("WRONGPASS", "")


def test_redis_hangs() -> None:
    with running() as server, server.client() as client:
        plant(client, "q")
        with exporting("--redis.url", server.url) as exporter:
            server.freeze()
            in_trouble(exporter, "timeout")
            server.thaw()
            well_again(exporter)


@pytest.mark.parametrize("known", [True, False], ids=["queues are known", "no queue is known"])
def test_redis_is_loading(*, known: bool) -> None:
    options = ServerOptions(config=("enable-debug-command local",))
    with running(options=options) as server, server.client() as client, server.client(socket_timeout=60) as other:
        plant(client, "q")
        client.mset({f"foreign {number}": "x" * 100 for number in range(10_000)})
        client.config_set("loading-process-events-interval-bytes", 1024)
        client.config_set("key-load-delay", 1_500)
        loading = threading.Thread(target=other.execute_command, args=("DEBUG", "RELOAD"))
        if not known:
            loading.start()
        with exporting("--redis.url", server.url, *SOON, ready=known) as exporter:
            if known:
                loading.start()
            wait_until(lambda: _refuses(client, redis.BusyLoadingError), "it to load")
            in_trouble(exporter, "not_ready")
            client.config_set("key-load-delay", 0)
            loading.join()
            well_again(exporter)


def test_a_script_keeps_redis_busy() -> None:
    options = ServerOptions(config=("lua-time-limit 100",))
    with running(options=options) as server, server.client() as client, server.client(socket_timeout=60) as other:
        plant(client, "q")
        with exporting("--redis.url", server.url) as exporter:
            busy = threading.Thread(target=_run_for_ever, args=(other,))
            busy.start()
            wait_until(lambda: _refuses(client, redis.ResponseError), "it to be busy")
            in_trouble(exporter, "not_ready")
            client.script_kill()
            busy.join()
            well_again(exporter)


def test_there_are_too_many_clients() -> None:
    with running() as server, server.client() as client:
        plant(client, "q")
        client.config_set("maxclients", 1)
        with exporting("--redis.url", server.url, *SOON, ready=False) as exporter:
            in_trouble(exporter, "unreachable")
            assert logged(exporter, "max number of clients reached")
            client.config_set("maxclients", 100)
            well_again(exporter)


def test_a_replica_has_lost_its_primary() -> None:
    with running() as primary, primary.client() as client:
        plant(client, "q")
        with running(options=ServerOptions(replica_of=primary)) as replica, replica.client() as copy:
            wait_until(lambda: bool(copy.exists("bull:q:wait")), "the copy")
            copy.config_set("replica-serve-stale-data", "no")
            with exporting("--redis.url", replica.url, *SOON) as exporter:
                primary.kill()
                wait_until(lambda: _refuses(copy, redis.exceptions.MasterDownError), "the primary to be missed")
                in_trouble(exporter, "not_ready")
                primary.start()
                plant(client, "q")
                wait_until(lambda: scrape(exporter).get(WAITING) == 2, "the queue", timeout=20, poll=0.2)
                assert len(logged(exporter, "redis can be read again")) == 1


def test_of_two_targets_one_is_down(tmp_path: Path) -> None:
    config = tmp_path / "qobserve.yml"
    with running() as sick, running() as well, sick.client() as one, well.client() as other:
        plant(one, "q")
        plant(other, "q")
        config.write_text(
            f"targets:\n  sick: {{redis: {{url: '{sick.url}'}}}}\n  well: {{redis: {{url: '{well.url}'}}}}\n"
        )
        with exporting("--config.file", str(config)) as exporter:
            sick.freeze()
            in_trouble(exporter, "timeout", path="/scrape?target=sick")
            healthy = [exporter.get("/scrape?target=well") for _ in range(3)]
            assert max(answer.elapsed.total_seconds() for answer in healthy) < 1
            assert scrape(exporter, "/scrape?target=well")[WAITING] == 2
            assert logged(exporter, "redis cannot be read", "target=sick")
            assert not logged(exporter, "target=well")
            sick.thaw()
            well_again(exporter, path="/scrape?target=sick")


def _refuses(client: redis.Redis, error: type[redis.RedisError]) -> bool:
    try:
        client.llen("bull:q:wait")
    except error:
        return True
    except redis.RedisError:
        return False
    return False


def _run_for_ever(client: redis.Redis) -> None:
    with pytest.raises(redis.ResponseError):
        client.eval("while true do end", 0)
