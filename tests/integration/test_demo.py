"""`qobserve demo` as a person and a script run it: what it shows, and that nothing of it is left, however it ends."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from qobserve.demo.scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for left-over processes in /proc")

QUEUES = {scenario.queue for scenario in SCENARIOS}
UP_SECONDS = 40
END_SECONDS = 15
COLUMNS = 140


def eventually(what: str, check: Callable[[], object], seconds: float = UP_SECONDS) -> object:
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return found


def descendants(root: int) -> set[int]:
    """Every process below `root`, by the parent field of /proc/PID/stat."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found: set[int] = set()
    level = {root}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level} - found
        found |= level
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "qobserve", "demo", *arguments]


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": "40"}


def assert_nothing_is_left(children: set[int], folder: Path) -> None:
    eventually("every child process is gone", lambda: not any(map(alive, children)), END_SECONDS)
    assert list(folder.iterdir()) == []


class Terminal:
    """The demo on a pseudo-terminal that it controls, as in a terminal window; `text` is all that it wrote."""

    def __init__(self, master: int, process: subprocess.Popen[bytes]) -> None:
        self.master = master
        self.process = process
        self.text = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        # Ends by EIO when the last process with the terminal is gone, or when the test closes it.
        try:
            while part := os.read(self.master, 65536):
                self.text += part.decode()
        except OSError:
            return

    def shows_every_queue(self) -> bool:
        return all(queue in self.text for queue in QUEUES) and "no_workers" in self.text

    def ended(self) -> int:
        code = self.process.wait(END_SECONDS)
        self._reader.join(END_SECONDS)
        return code


@contextmanager
def terminal(folder: Path) -> Iterator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    # setsid makes the first terminal that the demo opens its own, so that a Ctrl-C typed there reaches it as SIGINT.
    own = "import os, sys; os.setsid(); os.open(os.ttyname(0), os.O_RDWR); os.execv(sys.argv[1], sys.argv[1:])"
    program = [sys.executable, "-c", own, *command("--web.listen-address", "127.0.0.1:0")]
    process = subprocess.Popen(program, stdin=slave, stdout=slave, stderr=slave, env=environment(folder))
    os.close(slave)
    shown = Terminal(master, process)
    try:
        yield shown
    finally:
        process.kill()
        process.wait()
        if shown.master >= 0:
            os.close(shown.master)


@contextmanager
def script(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(folder)
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def scraped(url: str) -> dict[tuple[str, str], float]:
    # A proxy that the environment names is not for loopback.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(url, timeout=5) as answer:
        page = answer.read().decode()
    samples = (sample for family in text_string_to_metric_families(page) for sample in family.samples)
    return {(s.labels["queue"], s.labels["state"]): s.value for s in samples if s.name == "bullmq_queue_jobs"}


def test_a_script_reads_every_queue_while_the_demo_runs_and_nothing_is_left_afterwards(tmp_path: Path) -> None:
    with script(tmp_path, "--duration", "8", "--web.listen-address", "127.0.0.1:0") as demo:
        assert demo.stdout is not None
        first = demo.stdout.readline()
        url = re.fullmatch(r"qobserve demo: (http://127\.0\.0\.1:\d+/metrics)\n", first)
        assert url, first
        assert {queue for queue, _ in scraped(url[1])} == QUEUES
        eventually("a payment waits for its second attempt", lambda: scraped(url[1])["payments", "delayed"])
        counts = scraped(url[1])
        assert counts["emails", "completed"] > 0
        assert counts["newsletter", "waiting"] >= 40
        assert counts["exports", "waiting"] >= 12
        assert counts["orders", "waiting-children"] + counts["orders", "completed"] > 0
        children = descendants(demo.pid)
        assert len(children) == 3
        output, errors = demo.communicate(timeout=UP_SECONDS)
        assert (demo.returncode, errors) == (0, "")
    assert "\x1b" not in output
    assert "\r" not in output
    tables = output.split("\nafter ")[1:]
    assert [table.split(" s:")[0] for table in tables] == ["0", "5", "8"]
    assert all(f"\n{queue} " in tables[-1] for queue in QUEUES)
    assert re.search(r"\nexports .* 0 no_workers\n", tables[-1])
    assert re.search(r"\nnewsletter .* 1 paused\n", tables[-1])
    assert_nothing_is_left(children, tmp_path)


@pytest.mark.parametrize("end", ["ctrl-c", "SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_everything_and_gives_the_terminal_back(end: str, tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        before = termios.tcgetattr(shown.master)
        eventually("a table with every queue", shown.shows_every_queue)
        children = descendants(shown.process.pid)
        assert len(children) == 3
        if end == "ctrl-c":
            os.write(shown.master, b"\x03")
        else:
            shown.process.send_signal(signal.Signals[end])
        assert shown.ended() == 0
        assert termios.tcgetattr(shown.master) == before
        assert shown.text.rindex("\x1b[?25h") > shown.text.rindex("\x1b[?25l"), "the cursor is hidden"
        assert "Traceback" not in shown.text
        assert_nothing_is_left(children, tmp_path)


def test_a_closed_terminal_ends_everything(tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        eventually("a table with every queue", shown.shows_every_queue)
        children = descendants(shown.process.pid)
        master, shown.master = shown.master, -1
        os.close(master)
        assert shown.ended() == 0
        assert_nothing_is_left(children, tmp_path)


def test_a_killed_demo_takes_its_children_with_it(tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        eventually("a table with every queue", shown.shows_every_queue)
        children = descendants(shown.process.pid)
        assert len(children) == 3
        shown.process.kill()
        assert_nothing_is_left(children, tmp_path)


def test_a_signal_during_the_start_leaves_nothing_behind(tmp_path: Path) -> None:
    with terminal(tmp_path) as shown:
        children = eventually("its first child process", lambda: descendants(shown.process.pid))
        assert isinstance(children, set)
        shown.process.send_signal(signal.SIGTERM)
        assert shown.ended() == 0
        assert_nothing_is_left(children, tmp_path)


def test_a_taken_port_is_said_and_another_one_used(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        with script(tmp_path, "--duration", "1", "--web.listen-address", taken) as demo:
            output, errors = demo.communicate(timeout=UP_SECONDS)
    assert (demo.returncode, errors) == (0, "")
    url, note = output.splitlines()[:2]
    assert taken not in url
    assert note.startswith(f"{taken} is taken, so the exporter listens on 127.0.0.1:")


def test_a_server_that_does_not_come_up_is_one_sentence(tmp_path: Path) -> None:
    useless = shutil.which("false")
    assert useless
    with script(tmp_path, "--redis.server-binary", useless, "--web.listen-address", "127.0.0.1:0") as demo:
        output, errors = demo.communicate(timeout=UP_SECONDS)
    assert (demo.returncode, output) == (1, "")
    assert errors.count("\n") == 1
    assert "the server ended with exit code 1" in errors


def test_a_part_that_dies_ends_the_demo_with_one_sentence(tmp_path: Path) -> None:
    with script(tmp_path, "--web.listen-address", "127.0.0.1:0") as demo:
        assert demo.stdout is not None
        demo.stdout.readline()
        children = descendants(demo.pid)
        programs = {Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[3]: pid for pid in children}
        os.kill(programs[b"qobserve.demo.workload"], signal.SIGKILL)
        _, errors = demo.communicate(timeout=UP_SECONDS)
    assert demo.returncode == 1
    assert errors.count("\n") == 1
    assert "the workload ended with exit code -9" in errors
    assert_nothing_is_left(children, tmp_path)
