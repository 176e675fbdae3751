"""`qobserve trace` as a person runs it: its mistakes, its end, and what it does without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rig.child import wait_until
from rig.following import write_jobs
from rig.otlp import Behaviour, receiving
from rig.performance import tracing_alone

if TYPE_CHECKING:
    import redis
    from rig.servers import Server

CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("QOBSERVE_", "OTEL_"))}
SOMEWHERE = ("--tracing.otlp-endpoint", "http://127.0.0.1:9")


def run(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "qobserve", *words)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=CLEAN | environ, check=False)


def test_all_mistakes_are_named_at_once(tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    headers.write_text("no header\n")
    done = run(
        *("trace", "--web.listen-address", ":1", "--no-collector.age", "--once", "--tracing.otlp-endpont", "x"),
        *("--redis.url", "nowhere", "--tracing.otlp-headers-file", str(headers), *SOMEWHERE),
        QOBSERVE_WEB_TIMEOUT_OFFSET="soon",
    )
    assert done.returncode == 64
    first, *problems = done.stderr.splitlines()
    assert first == "qobserve: 7 settings are wrong"
    other = "this command has no such flag, it is one of qobserve exporter"
    assert [problem.strip() for problem in problems[:4]] == [
        f"--web.listen-address: {other}",
        f"--no-collector.age: {other}",
        f"--once: {other}",
        "--tracing.otlp-endpont: there is no such flag, did you mean --tracing.otlp-endpoint?",
    ]
    assert {problem.strip().partition(":")[0] for problem in problems[4:]} == {
        "QOBSERVE_WEB_TIMEOUT_OFFSET", "--redis.url", "tracing.otlp-headers-file",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "environ", "message"),
    [
        ((), {}, "there is nowhere to send traces: give --tracing.otlp-endpoint URL, such as "),
        (SOMEWHERE, {"OTEL_SDK_DISABLED": "true"}, "OTEL_SDK_DISABLED=true switches traces off"),
        ((), {"OTEL_TRACES_EXPORTER": "none"}, "OTEL_TRACES_EXPORTER=none switches traces off"),
        (("--tracing.otlp-endpoint", "nonsense"), {}, '--tracing.otlp-endpoint: "nonsense" is not an address'),
        (
            (),
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "QOBSERVE_FOLLOW_ENABLED": "false"},
            "follow.enabled is off: traces are made of events",
        ),
    ],
)
def test_one_mistake(words: tuple[str, ...], environ: dict[str, str], message: str) -> None:
    done = run("trace", *words, **environ)
    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith(f"qobserve: {message}")
    assert len(done.stderr.splitlines()) == 1


def test_what_is_right_can_be_checked_and_a_file_shared_with_an_exporter(tmp_path: Path) -> None:
    (tmp_path / "qobserve.yml").write_text("web: {telemetry-path: /m}\nslo: {wait: 5m}\ncollector: {age: false}\n")
    words = ("trace", "--config.check", "--config.file", str(tmp_path / "qobserve.yml"))
    assert run(*words, *SOMEWHERE).stdout == "ok\n"
    assert run(*words, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="http://127.0.0.1:9").stdout == "ok\n"
    assert run(*words).returncode == 64


def test_the_exporter_checks_its_way_out_for_spans_too(tmp_path: Path) -> None:
    (tmp_path / "headers").write_text("no header\n")
    words = ("--tracing.otlp-headers-file", str(tmp_path / "headers"), *SOMEWHERE)
    done = run("exporter", "--config.check", *words)
    assert (done.returncode, done.stdout) == (64, "")
    assert "tracing.otlp-headers-file" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_it_send_what_it_holds(server: Server, redis_client: redis.Redis, number: int) -> None:
    with receiving() as receiver:
        receiver.manners.behaviour = Behaviour.SLOW
        words = ("--queues.static", "mail", "--tracing.otlp-endpoint", receiver.http_endpoint)
        with tracing_alone("--redis.url", server.url, *words) as tracer:
            write_jobs(redis_client, "mail", 500)
            wait_until(lambda: bool(receiver.requests), "the first batch")
            tracer.signal(number)
            wait_until(lambda: "msg=stopped" in tracer.log(), "its end")
            assert tracer.process.wait(5) == 0
            last = tracer.log().splitlines()[-1]
        assert len({span.span_id for span in receiver.spans}) == 1_000
        assert f"exported={len(receiver.spans)} dropped=0" in last


def test_a_second_signal_ends_it_at_once(server: Server, redis_client: redis.Redis) -> None:
    with receiving() as receiver:
        receiver.manners.behaviour = Behaviour.HANGS
        words = ("--queues.static", "mail", "--tracing.otlp-endpoint", receiver.http_endpoint)
        with tracing_alone("--redis.url", server.url, *words) as tracer:
            write_jobs(redis_client, "mail", 10)
            wait_until(lambda: bool(receiver.requests), "the first batch")
            tracer.signal(signal.SIGTERM)
            wait_until(lambda: "msg=stopping" in tracer.log(), "the first signal to be heard")
            tracer.signal(signal.SIGTERM)
            assert tracer.process.wait(2) == -signal.SIGTERM


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux lists its sockets there")
def test_it_serves_nothing(server: Server) -> None:
    with tracing_alone("--redis.url", server.url, *SOMEWHERE) as tracer:
        listening = {line[9] for line in _sockets() if line[3] == "0A"}
        own = {str(each.readlink()) for each in Path(f"/proc/{tracer.pid}/fd").iterdir()}
    assert listening
    assert not own & {f"socket:[{number}]" for number in listening}


def _sockets() -> list[list[str]]:
    """The TCP sockets of all programs, as the kernel lists them."""
    texts = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6")]
    return [line.split() for text in texts for line in text.splitlines()[1:]]


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(("google", "grpc", "opentelemetry", "requests", "starlette", "uvicorn")))
import qobserve.cli.trace
assert "redis" not in sys.modules
import qobserve.cli.trace_run
print("loaded")
"""


def test_it_loads_no_web_server_at_all_and_the_rest_only_when_it_is_needed() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT], capture_output=True, text=True, check=True)
    assert done.stdout == "loaded\n"
