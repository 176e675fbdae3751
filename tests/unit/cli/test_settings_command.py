"""The help of a command whose flags are the table of settings."""

from __future__ import annotations

from click.shell_completion import ShellComplete
from click.testing import CliRunner

from qobserve.cli.program import cli
from qobserve.cli.settings_command import SECTION_TITLES, help_text, spelling
from qobserve.config.table import BY_NAME, SETTINGS


def test_every_setting_belongs_to_a_section_of_the_help() -> None:
    assert {setting.section for setting in SETTINGS} == set(SECTION_TITLES)


def test_the_help_of_a_value_a_switch_and_a_secret() -> None:
    rows = {name: (spelling(BY_NAME[name]), help_text(BY_NAME[name])) for name in BY_NAME}
    assert rows["redis.timeout"] == (
        "--redis.timeout DURATION",
        "Time limit of a whole snapshot.  [default: 8s; env: QOBSERVE_REDIS_TIMEOUT]",
    )
    assert rows["collector.age"] == (
        "--[no-]collector.age",
        "Whether the collector age runs.  [default: true; env: QOBSERVE_COLLECTOR_AGE]",
    )
    assert rows["redis.password"] == (
        "QOBSERVE_REDIS_PASSWORD",
        "Password; wins over the URL's.  [environment and file only]",
    )


def test_the_help_shows_every_setting() -> None:
    text = CliRunner().invoke(cli, ["exporter", "--help"]).output
    for setting in SETTINGS:
        assert spelling(setting).split()[0] in text
        assert setting.variable in text


def test_a_shell_completes_flags_but_no_secrets() -> None:
    def completed(incomplete: str) -> list[str]:
        completion = ShellComplete(cli, {}, "qobserve", "_QOBSERVE_COMPLETE")
        return [item.value for item in completion.get_completions(["exporter"], incomplete)]

    assert completed("--redis.pass") == ["--redis.password-file"]
    assert completed("--no-collector.a") == ["--no-collector.age"]
    assert completed("--redis.c") == ["--redis.cluster", "--redis.connect-timeout"]
