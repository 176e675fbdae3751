"""`qobserve alerts export` as a person types it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from qobserve.alerts.export import Format, text
from qobserve.alerts.options import AlertOptions
from qobserve.cli.program import EXIT_FAIL, EXIT_OK, EXIT_USAGE, run
from qobserve.config import Settings

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT = text(Settings(), AlertOptions(), Format.PROMETHEUS)


def test_the_rules_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["alerts", "export"]) == EXIT_OK
    assert tuple(capsys.readouterr()) == (DEFAULT, "")


@pytest.mark.parametrize(
    ("format_", "name"), [("prometheus", "qobserve.rules.yml"), ("prometheusrule", "qobserve.prometheusrule.yml")]
)
def test_or_into_a_folder_that_is_made(
    format_: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "made" / "anew"
    assert run(["alerts", "export", "--format", format_, "--out", str(folder)]) == EXIT_OK
    assert tuple(capsys.readouterr()) == ("", "")
    (written,) = folder.iterdir()
    assert written.name == name
    assert written.read_text() == text(Settings(), AlertOptions(), Format(format_))


def test_every_option_has_its_effect(capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        *("--job", "queues", "--runbook-base-url", "https://wiki/books", "--dashboard-base-url", "https://grafana"),
        "--with-length-alerts",
    ]
    assert run(["alerts", "export", *words]) == EXIT_OK
    options = AlertOptions(
        job="queues",
        runbook_base_url="https://wiki/books",
        dashboard_base_url="https://grafana",
        with_length_alerts=True,
    )
    assert capsys.readouterr().out == text(Settings(), options, Format.PROMETHEUS)


def test_variables_stand_for_options(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("QOBSERVE_ALERTS_JOB", "queues")
    monkeypatch.setenv("QOBSERVE_ALERTS_WITH_LENGTH_ALERTS", "true")
    assert run(["alerts", "export"]) == EXIT_OK
    options = AlertOptions(job="queues", with_length_alerts=True)
    assert capsys.readouterr().out == text(Settings(), options, Format.PROMETHEUS)


def test_bounds_and_promises_come_from_the_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "qobserve.yml"
    config.write_text("metrics: {wait-buckets: [1s, 30s]}\nslo: {wait: 45s}\n")
    assert run(["alerts", "export", "--config.file", str(config)]) == EXIT_OK
    out, err = capsys.readouterr()
    assert 'value >= 1 < 30, "le", "1.0"' in out
    assert yaml.safe_load(out)["groups"]
    assert err == (
        "qobserve: slo.wait (45s) is no bound of metrics.wait-buckets: jobs count as late from the next lower one on, "
        "30s; add it to the bounds\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--config.file", "/nowhere/x.yml"], '--config.file: cannot read "/nowhere/x.yml"'),
        (["--runbook-base-url", "wiki/books"], '"wiki/books" is not an address: write https://HOST/PATH'),
        (["--dashboard-base-url", "https://g/{{ x }}"], "is not an address"),
        (["--dashboard-base-url", "https://[g"], "is not an address"),
        (["--job", ""], "it is empty: write the job_name of Prometheus's configuration"),
        (["--format", "json"], "'json' is not one of"),
    ],
)
def test_a_mistake_is_answered(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["alerts", "export", *words]) == EXIT_USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("")
    assert run(["alerts", "export", "--out", str(tmp_path / "taken" / "below")]) == EXIT_FAIL
    assert capsys.readouterr().err.startswith("qobserve: cannot write ")
