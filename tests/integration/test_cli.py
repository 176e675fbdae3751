"""The program as a person runs it: exit codes, messages, signals, reloads."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from rig.child import Child, wait_until

from qobserve import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import redis
    from rig.servers import Server

QOBSERVE = (sys.executable, "-m", "qobserve")
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("QOBSERVE_")}
NOBODY = "redis://127.0.0.1:1"


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*QOBSERVE, *words], capture_output=True, text=True, timeout=60, env=CLEAN | environ, check=False
    )


@contextlib.contextmanager
def exporter(*words: str, **environ: str) -> Iterator[tuple[Child, str]]:
    """A running exporter on a free port, and its base URL."""
    child = Child([*QOBSERVE, "exporter", "--web.listen-address", "127.0.0.1:0", *words], env=CLEAN | environ)
    try:
        wait_until(lambda: not child.running or "msg=listening" in child.log(), "the exporter listens")
        found = re.search(r"address=(\S+) tls=(\w+)", child.log())
        assert found, child.log()
        yield child, f"{'https' if found[2] == 'true' else 'http'}://{found[1]}"
    finally:
        child.kill()


def queue(client: redis.Redis, name: str) -> None:
    client.hset(f"bull:{name}:meta", "opts.maxLenEvents", "10000")
    client.rpush(f"bull:{name}:wait", "1")


def shown_queues(text: str) -> set[str]:
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    return {sample.labels["queue"] for sample in samples if "queue" in sample.labels}


def test_version_and_help() -> None:
    assert run("--version").stdout == f"qobserve {__version__}\n"
    top, exporters = run("--help"), run("exporter", "--help")
    assert (top.returncode, exporters.returncode) == (0, 0)
    assert re.search(r"^  exporter +Serve Prometheus metrics", top.stdout, re.MULTILINE)
    text = " ".join(exporters.stdout.split())
    assert "--redis.url URL The Redis to read: redis://, rediss:// (TLS) or unix://." in text
    assert "[default: redis://127.0.0.1:6379/0; env: QOBSERVE_REDIS_URL]" in text
    assert "Redis:" in text
    assert "Collectors:" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Usage: qobserve"),
        (["exporterr"], 'there is no command "exporterr", did you mean exporter?'),
        (["u:S3CR3T@h"], 'there is no command "***@h"'),
        (["--nonsense"], "No such option"),
        (
            ["exporter", "--redis.urll", "x"],
            "qobserve: --redis.urll: there is no such flag, did you mean --redis.url?\n",
        ),
    ],
)
def test_a_wrong_command_line_ends_with_64(words: list[str], message: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (64, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_every_mistake_is_told_and_a_password_never(tmp_path: Path) -> None:
    config, web = tmp_path / "config.yml", tmp_path / "web.yml"
    config.write_text("redis: {timeout: 1x}\nlogs: {}\n")
    web.write_text("basic_auth_users: {alice: S3CR3T}\ntls: {}\n")
    done = run(
        *("exporter", "--config.file", str(config), "--web.config.file", str(web), "--config.check"),
        *("--redis.password", "S3CR3T", "--redis.url", "http://u:S3CR3T@h"),
        QOBSERVE_LOG_LEVEL="loud",
    )
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.splitlines() == [
        "qobserve: 7 settings are wrong",
        (
            "  --redis.password: there is no such flag, as every user of the machine could read the value; "
            "use QOBSERVE_REDIS_PASSWORD or --redis.password-file"
        ),
        f"  {config}: logs: there is no such key, did you mean log?",
        f'  {config}: redis.timeout: "1x" is not a duration: write 10s, 500ms, 2m, 1h or a number of seconds',
        '  QOBSERVE_LOG_LEVEL: "loud" is not one of debug, info, warning, error',
        (
            '  --redis.url: "http" is not a scheme that is supported: '
            "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH?db=DB"
        ),
        f"  {web}: tls: there is no such key",
        f'  {web}: basic_auth_users."alice": its value is no bcrypt hash, make one with: htpasswd -nBC 10 USER',
    ]


def test_a_check_connects_nowhere() -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as redis_like:
        redis_like.settimeout(0)
        host, port = redis_like.getsockname()
        done = run("exporter", "--config.check", "--redis.url", f"redis://{host}:{port}")
        assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
        with pytest.raises(BlockingIOError):
            redis_like.accept()


def test_once_prints_a_scrape_with_every_queue(server: Server, redis_client: redis.Redis) -> None:
    queue(redis_client, "mail")
    queue(redis_client, "sms")
    done = run("exporter", "--redis.url", server.url, "--once")
    assert (done.returncode, done.stderr) == (0, "")
    assert shown_queues(done.stdout) == {"mail", "sms"}
    assert re.search(r"^bullmq_up 1(\.0)?$", done.stdout, re.MULTILINE)


def test_once_prints_a_named_target_when_there_is_no_default(
    server: Server, redis_client: redis.Redis, tmp_path: Path
) -> None:
    queue(redis_client, "mail")
    config = tmp_path / "config.yml"
    config.write_text(f"targets: {{eu: {{redis: {{url: '{server.url}'}}}}, us: {{redis: {{url: '{NOBODY}'}}}}}}\n")
    done = run("exporter", "--config.file", str(config), "--once")
    assert (done.returncode, done.stderr, shown_queues(done.stdout)) == (0, "", {"mail"})


def test_once_without_redis_still_prints_and_ends_with_1() -> None:
    done = run("exporter", "--redis.url", "redis://u:S3CR3T@127.0.0.1:1", "--once", "--log.format", "json")
    assert done.returncode == 1
    assert re.search(r"^bullmq_up 0(\.0)?$", done.stdout, re.MULTILINE)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line["level"] for line in lines] == ["warning", "error"]
    assert "redis://u:***@127.0.0.1:1" in lines[1]["error"]
    assert "S3CR3T" not in done.stderr


def test_once_into_a_pipe_that_nobody_reads() -> None:
    read, write = os.pipe()
    os.close(read)
    words = [*QOBSERVE, "exporter", "--redis.url", NOBODY, "--once"]
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60, env=CLEAN, check=False)
    os.close(write)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("words", [["--once", "--redis.url", NOBODY, "--log.level", "error"], ["--config.check"]])
def test_a_full_disk_is_one_sentence(words: list[str]) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device, no path to work with
        done = subprocess.run(
            [*QOBSERVE, "exporter", *words], stdout=full, stderr=subprocess.PIPE, text=True, env=CLEAN, check=False
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "qobserve: cannot write to standard output: no space left on device"
    assert "Traceback" not in done.stderr


def sent_at_import(folder: Path, module: str, number: signal.Signals) -> dict[str, str]:
    """The environment of a program that sends itself a signal when it begins to import a module."""
    (folder / "sitecustomize.py").write_text(
        f"""
import os, sys

class Sender:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), {int(number)})

sys.meta_path.insert(0, Sender())
"""
    )
    return {"PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    ("command", "module"),
    [("exporter", "click"), ("exporter", "pydantic"), ("exporter", "uvicorn"), ("demo", "rich")],
)
def test_a_signal_before_it_serves_ends_it_without_a_word(
    command: str, module: str, number: signal.Signals, tmp_path: Path
) -> None:
    done = run(command, "--web.listen-address", "127.0.0.1:0", **sent_at_import(tmp_path, module, number))
    assert (done.returncode, done.stdout) == (-number, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("module", ["click", "uvicorn"])
def test_a_hang_up_before_it_serves_is_a_reload(module: str, tmp_path: Path) -> None:
    with exporter("--redis.url", NOBODY, **sent_at_import(tmp_path, module, signal.SIGHUP)) as (child, url):
        assert httpx.get(f"{url}/-/healthy").status_code == 200
        wait_until(lambda: 'msg="configuration reloaded"' in child.log(), "the configuration is read again")
        assert child.terminate() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly(number: signal.Signals, server: Server) -> None:
    with exporter("--redis.url", server.url) as (child, url):
        wait_until(lambda: httpx.get(f"{url}/-/ready").status_code == 200, "the exporter is ready")
        child.signal(number)
        assert child.process.wait(10) == 0
        assert f"msg=stopping signal={number.name}" in child.log()
        assert child.log().splitlines()[-1].endswith("msg=stopped")
        assert "Traceback" not in child.log()


def test_it_serves_while_redis_is_away() -> None:
    with exporter("--redis.url", NOBODY) as (child, url):
        assert httpx.get(f"{url}/-/ready").status_code == 503
        assert httpx.get(f"{url}/-/healthy").status_code == 200
        assert "\nbullmq_up 0" in httpx.get(f"{url}/metrics", timeout=15).text
        assert child.terminate() == 0


def test_a_port_in_use_ends_with_1_and_one_sentence() -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("exporter", "--web.listen-address", address, "--log.level", "error")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"qobserve: cannot listen on {address}: address already in use; choose another --web.listen-address\n"
    )


def test_a_reload_takes_a_good_file_and_leaves_a_bad_one(
    server: Server, redis_client: redis.Redis, tmp_path: Path
) -> None:
    queue(redis_client, "mail")
    config = tmp_path / "config.yml"
    good = f"redis: {{url: '{server.url}'}}\n"
    config.write_text(good)
    with exporter("--config.file", str(config)) as (child, url):

        def queues() -> set[str]:
            return shown_queues(httpx.get(f"{url}/metrics", timeout=15).text)

        wait_until(lambda: queues() == {"mail"}, "the queue is shown")
        config.write_text("redis: {urll: x, url: 'u:S3CR3T@h'}\nslo: {wait: soon}\n")
        answer = httpx.post(f"{url}/-/reload")
        assert answer.status_code == 500
        problems = [
            f"{config}: redis.urll: there is no such key, did you mean redis.url?",
            (
                f'{config}: redis.url: "***@h" has no scheme: '
                "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH?db=DB"
            ),
            f'{config}: slo.wait: "soon" is not a duration: write 10s, 500ms, 2m, 1h or a number of seconds',
        ]
        assert answer.text.splitlines() == problems
        assert all(json.dumps(problem) in child.log() for problem in problems)
        assert queues() == {"mail"}
        config.write_text(good + "queues: {exclude: [mail]}\nweb: {listen-address: ':1'}\n")
        child.signal(signal.SIGHUP)
        wait_until(lambda: queues() == set(), "the queue is excluded")
        assert 'msg="a changed setting needs a restart" setting=web.listen-address' not in child.log()
        config.write_text(good + "web: {telemetry-path: /m}\n")
        assert httpx.put(f"{url}/-/reload").status_code == 200
        assert 'msg="a changed setting needs a restart" setting=web.telemetry-path' in child.log()
        wait_until(lambda: queues() == {"mail"}, "the queue is shown again")
        assert child.terminate() == 0


def test_a_reload_reads_password_files_again(tmp_path: Path, server: Server, redis_client: redis.Redis) -> None:
    queue(redis_client, "mail")
    redis_client.execute_command("ACL", "SETUSER", "reader", "on", ">right", "~*", "+@all")
    password = tmp_path / "password"
    password.write_text("wrong\n")
    try:
        with exporter(
            *("--redis.url", server.url, "--redis.user", "reader", "--redis.password-file", str(password))
        ) as (child, url):
            assert "\nbullmq_up 0" in httpx.get(f"{url}/metrics", timeout=15).text
            password.write_text("right\n")
            assert httpx.post(f"{url}/-/reload").status_code == 200
            wait_until(lambda: "\nbullmq_up 1" in httpx.get(f"{url}/metrics", timeout=15).text, "the password is right")
            assert "wrong" not in child.log().replace("the new configuration is wrong", "")
            assert "right" not in child.log()
    finally:
        redis_client.execute_command("ACL", "DELUSER", "reader")


def test_an_unexpected_error_ends_with_70_and_says_how_to_see_more(tmp_path: Path) -> None:
    # A module of the program that cannot be imported stands for any defect.
    broken = tmp_path / "sitecustomize.py"
    broken.write_text("import sys\nsys.modules['qobserve.cli.exporter'] = None\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = run("exporter", PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (70, "")
    assert re.fullmatch(
        r"qobserve: internal error: ModuleNotFoundError: [^\n]+\n"
        r"Set QOBSERVE_LOG_LEVEL=debug and run it again for the traceback\.\n",
        done.stderr,
    )
    debug = run("exporter", PYTHONPATH=path, QOBSERVE_LOG_LEVEL="debug")
    assert debug.returncode == 70
    assert "Traceback" in debug.stderr
