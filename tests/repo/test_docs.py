"""What the pages say is so: examples are run, names and numbers are the code's."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from repo.pages import FENCE, PAGES, commands_of
from repo.tree import ROOT, python_files, tracked
from rig.child import Child, wait_until
from rig.programs import missing
from rig.servers import free_port
from rig.specimen import plant

from qobserve import errors
from qobserve.cli import program
from qobserve.config import Settings
from qobserve.config.table import SETTINGS
from qobserve.metrics import COLLECTORS
from qobserve.metrics.exporter import BUILD_INFO, OF_SCRAPE
from qobserve.reader.budget import MOST_LEVELS, share
from qobserve.reader.questions import ACTIVE_WINDOW
from qobserve.server.http import Pages
from qobserve.server.scrape import Scraper

if TYPE_CHECKING:
    import redis
    from rig.certificates import Certificates
    from rig.servers import Server

TEXTS = {str(path): (ROOT / path).read_text() for path in PAGES}
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
CHECKED = re.compile(r"<!-- (checked|file): (?P<what>[^>]+) -->\n```\w+\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = [(page, match["what"], match["body"]) for page, text in TEXTS.items() for match in CHECKED.finditer(text)]

each_page = pytest.mark.parametrize("page", TEXTS)


def examples(what: str) -> list[str]:
    """The marked examples of a kind, of all pages."""
    return [body for _, kind, body in EXAMPLES if kind == what]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a person would type."""
    argv = ["bash", "-euc", command]
    return subprocess.run(argv, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def prose(text: str) -> str:
    """A page on one line, so that a sentence is found wherever its lines end."""
    return " ".join(text.split())


def anchors(text: str) -> set[str]:
    """What a link to a part of a page may name: headings, in the form that GitHub gives them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_pages_that_the_code_names_exist_with_their_parts() -> None:
    code = "\n".join((ROOT / path).read_text() for path in python_files("qobserve"))
    named = set(re.findall(r"docs/([\w-]+\.md)(?:#([\w-]+))?", code))
    assert len(named) > 5
    assert {(page, part) for page, part in named if part and part not in anchors(TEXTS[f"docs/{page}"])} == set()
    assert {page for page, _ in named} <= {path.name for path in PAGES}


@each_page
def test_links_to_parts_of_pages_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^):\s]*)#([^)\s]+)\)", TEXTS[page])
    folder = (ROOT / page).parent
    targets = [((folder / file).resolve() if file else ROOT / page, part) for file, part in links]
    assert [(file, part) for file, part in targets if part not in anchors(file.read_text())] == []


@each_page
def test_families_and_flags_are_those_of_the_code(page: str) -> None:
    text = TEXTS[page].partition("## Add a collector")[0]  # what it would add does not exist
    families = {f.name for f in (*OF_SCRAPE, BUILD_INFO, *(f for one in COLLECTORS for f in one.families))}
    assert set(re.findall(r"\bbullmq_\w+", text)) <= families | {"bullmq_target"}
    flags = {form for s in SETTINGS for form in (s.flag, f"--no-{s.name}")}
    shown = set(re.findall(r"(?<![\w-])--((?:no-)?[a-z]+\.[a-z.-]*[a-z])", text))
    assert {f"--{flag}" for flag in shown} <= flags


@pytest.mark.parametrize("page", ["README.md", "docs/connections.md"])
def test_the_user_that_may_only_read_is_the_one_that_was_tried(page: str) -> None:
    tree = ast.parse((ROOT / "tests/integration/test_zero_writes.py").read_text())
    (line,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ACL"
    ]
    assert f"\n{line}\n" in TEXTS[page]


def test_the_numbers_about_age_are_those_of_the_budget() -> None:
    windows = {queues: share(queues, 20).windows.jobs for queues in range(1, 10_000)}
    hashes = {queues: share(queues, 20).hashes for queues in range(1, 10_000)}
    text = prose(TEXTS["docs/age.md"])
    for name, each in (("The window is {} ids for", windows), ("Hashes are {} for", hashes)):
        most = max(each.values())
        full = max(queues for queues, size in each.items() if size == most)
        assert f"{name.format(most)} each list up to {full} queues, {most * full} / queues above" in text
        assert f"and never below {min(each.values())}." in text
    assert f"Up to {MOST_LEVELS} priorities" in text
    assert f"Up to {ACTIVE_WINDOW} jobs at the end" in text


def test_exit_codes_are_those_of_the_program() -> None:
    table = re.findall(r"^\| (\d+) \|", TEXTS["docs/cli.md"], re.MULTILINE)
    codes = {value for name, value in vars(program).items() if name.startswith("EXIT_") or name == "_INTERRUPTED"}
    assert set(map(int, table)) == codes


def test_reasons_are_those_of_the_exceptions() -> None:
    table = re.findall(r"^\| `(\w+)` \|", TEXTS["docs/connections.md"], re.MULTILINE)
    kinds = [errors.RedisError, *errors.RedisError.__subclasses__()]
    assert sorted(table) == sorted([*(kind.reason for kind in kinds), "internal"])  # which no exception of ours is


async def test_endpoints_are_those_that_are_served() -> None:
    async def reload() -> None:
        """Nothing is reloaded here."""

    settings = Settings()
    app = Pages(Scraper(settings), lambda: settings.web, reload).app()
    table = re.findall(r"^\| `(/[^`?]*)", TEXTS["docs/cli.md"], re.MULTILINE)
    assert sorted(table) == sorted(route.path for route in app.routes)  # type: ignore[attr-defined]  # all are Route


def test_the_example_configuration_is_right(tmp_path: Path, certificates: Certificates) -> None:
    (example,) = examples("config")
    (tmp_path / "qobserve.yml").write_text(example)
    (tmp_path / "redis-password").write_text("secret\n")
    shutil.copy(certificates.ca_certificate, tmp_path / "ca.pem")
    done = run("qobserve exporter --config.check --config.file qobserve.yml", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


def test_the_example_web_configuration_is_right(tmp_path: Path, certificates: Certificates) -> None:
    (example,) = examples("web config")
    (tmp_path / "web.yml").write_text(example)
    shutil.copy(certificates.server_certificate, tmp_path / "server.pem")
    shutil.copy(certificates.server_key, tmp_path / "server.key")
    done = run("qobserve exporter --config.check --web.config.file web.yml", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("example", examples("prometheus"))
def test_prometheus_takes_the_example(example: str, tmp_path: Path) -> None:
    if shutil.which("promtool") is None:
        missing("no promtool on PATH: the system's package prometheus holds it")
    (tmp_path / "prometheus.yml").write_text(example)
    done = run("promtool check config prometheus.yml", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_quick_start_works_word_for_word(server: Server, redis_client: redis.Redis) -> None:
    """Only the two ports are others: theirs may be taken."""
    if shutil.which("curl") is None:
        missing("no curl on PATH")
    plant(redis_client, "quick")
    part = TEXTS["README.md"].partition("## Quick start")[2].partition("\n## ")[0]
    demo, start, ask = commands_of(part)
    port = str(free_port())
    assert demo == "make demo"
    assert start.count(":6379") == ask.count(":10538") == 1
    words = shlex.split(start.replace(":6379", f":{server.port}"))
    exporter = Child(words, cwd=ROOT, env={**ENVIRONMENT, "QOBSERVE_WEB_LISTEN_ADDRESS": f":{port}"})
    try:
        command = ask.replace("10538", port)
        wait_until(
            lambda: 'queue="quick"' in run(f"{command} || true", ROOT).stdout, "the queue to be on the page", timeout=30
        )
        page = run(command, ROOT).stdout
    finally:
        exporter.kill()
    assert "\nbullmq_up 1.0\n" in page
    names = re.findall(r"^(bullmq_\w+)\{", part, re.MULTILINE)
    assert len(names) == 4
    assert [name for name in names if f"\n{name}{{" not in page] == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of what is tracked, for an example to be added to."""
    root = tmp_path / "copy"
    for path in tracked():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, root / path)
    return root


def appended(code: str, name: str, entry: str) -> str:
    """The code with one more entry at the end of a tuple."""
    pattern = re.compile(rf"(^{name} = \(.*?)(^\))", re.MULTILINE | re.DOTALL)
    return pattern.sub(rf"\g<1>    {entry},\n\2", code, count=1)


def add_collector(root: Path) -> list[str]:
    """Do what CONTRIBUTING.md says up to the third step; the files that it adds."""
    files = {what: body for page, what, body in EXAMPLES if page == "CONTRIBUTING.md"}
    for name, body in files.items():
        (root / name).write_text(body)
    table, names = root / "qobserve/metrics/__init__.py", root / "qobserve/config/settings.py"
    imported = table.read_text().replace("    payload,\n", "    payload,\n    pending,\n", 1)
    table.write_text(appended(imported, "COLLECTORS", "pending.COLLECTOR"))
    names.write_text(appended(names.read_text(), "COLLECTOR_NAMES", '"pending"'))
    return list(files)


def test_the_example_collector_works(copy: Path) -> None:
    """Each step is followed in a copy; the last one by the commands that the page shows, less `make`."""
    added = add_collector(copy)
    assert len(added) == 2
    paths = f"PYTHONPATH={shlex.quote(str(copy))}"
    python = shlex.quote(sys.executable)
    run(f"cd tests && {paths} {python} -m golden", copy).check_returncode()
    run(f"{paths} {python} -m cogapp -r docs/*.md", copy).check_returncode()

    assert "bullmq_queue_pending_jobs" in (copy / "docs/metrics.md").read_text()
    assert "--no-collector.pending" in (copy / "docs/cli.md").read_text()
    suites = "tests/unit/metrics tests/unit/config tests/golden"
    tests = run(f"{paths} {python} -m pytest -q -p no:cacheprovider {suites}", copy)
    assert tests.returncode == 0, tests.stdout
    run(f"{python} -m ruff check --no-cache {' '.join(added)} qobserve", copy).check_returncode()
    checks = run(f"{paths} lint-imports --no-cache", copy)
    assert checks.returncode == 0, checks.stdout + checks.stderr
