"""All sources together: who wins, what is told, and that everything that is wrong is told at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qobserve.config import Settings, Slo, TargetSettings
from qobserve.config.load import load_settings
from qobserve.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NO_ENVIRONMENT: dict[str, str] = {}


@pytest.fixture
def yaml_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Writes config.yml and gives the flags that name it as a person in its folder would."""
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> list[str]:
        (tmp_path / "config.yml").write_text(text, encoding="utf-8")
        return ["--config.file", "config.yml"]

    return write


def problems(words: list[str], environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(words, environ or NO_ENVIRONMENT)
    return list(caught.value.problems)


def test_without_any_source_the_defaults_hold() -> None:
    assert load_settings([], NO_ENVIRONMENT) == Settings()


def test_a_flag_wins_over_the_environment_and_that_over_the_file(yaml_file: Callable[[str], list[str]]) -> None:
    words = yaml_file("redis: {url: 'redis://file', timeout: 1s, connect-timeout: 1s}")
    environ = {"QOBSERVE_REDIS_URL": "redis://environment", "QOBSERVE_REDIS_TIMEOUT": "2s"}
    target = load_settings([*words, "--redis.url=redis://flag"], environ).targets["default"]
    assert (target.url, target.timeout, target.connect_timeout) == ("redis://flag", 2.0, 1.0)


def test_all_mistakes_of_all_sources_are_told_at_once(yaml_file: Callable[[str], list[str]]) -> None:
    words = yaml_file(
        """
redis: {urll: x, timeout: -1s, database: zero}
discovery: fast
web: {listen-address: {a: b}, telemetry-path: [/a, /b]}
once: true
targets:
  eu: {redis: {url: "http://eu"}, web: {telemetry-path: /x}}
  us: {}
slo: {objective: 2, queues: {"mail*": {wait: soon}}}
"""
    )
    environ = {"QOBSERVE_REDIS_URI": "x", "QOBSERVE_SLO_WAIT": "-1", "QOBSERVE_COLLECTOR_AGE": "maybe"}
    flags = ["--redis.cluster", "--redis.sentinel", "s1", "--log.level", "loud", "--redis.timout", "3s", "stray"]
    assert problems([*words, *flags], environ) == [
        "--redis.timout: there is no such flag, did you mean --redis.timeout?",
        '"stray": arguments are not expected, only flags that begin with --',
        "QOBSERVE_REDIS_URI: there is no such setting, did you mean QOBSERVE_REDIS_URL?",
        "config.yml: redis.urll: there is no such key, did you mean redis.url?",
        "config.yml: discovery: keys and values are expected here, in the form KEY: VALUE",
        "config.yml: web.listen-address: a list of values is expected",
        "config.yml: web.telemetry-path: one value is expected, not a list",
        "config.yml: once: it may not stand in a file, use --once or QOBSERVE_ONCE",
        'config.yml: redis.timeout: "-1s" is too short: it must be more than zero',
        'config.yml: redis.database: "zero" is not a whole number from 0 to 999999999',
        'config.yml: slo.objective: "2" is not a share between 0 and 1: write 0.995 or 99.5%',
        'QOBSERVE_COLLECTOR_AGE: "maybe" is neither true nor false: write true, false, 1, 0, yes, no, on or off',
        'QOBSERVE_SLO_WAIT: "-1" is too short: it must be more than zero',
        '--log.level: "loud" is not one of debug, info, warning, error',
        "--redis.cluster: a cluster has no Sentinels, but --redis.sentinel names some",
        "--redis.sentinel: the master's name is missing, set redis.sentinel-master as well",
        "config.yml: targets.eu.web: there is no such key",
        (
            'config.yml: targets.eu.redis.url: "http" is not a scheme that is supported: '
            "write redis://HOST:PORT/DB, rediss://HOST:PORT/DB or unix:///PATH?db=DB"
        ),
        "config.yml: targets.us: its address is missing, set redis.url below it",
        (
            'config.yml: slo.queues."mail*".wait: "soon" is not a duration: '
            "write 10s, 500ms, 2m, 1h or a number of seconds"
        ),
    ]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--redis.url"], "--redis.url: a value is missing, write --redis.url URL"),
        (["--redis.url", "--once"], "--redis.url: a value is missing, write --redis.url URL"),
        (["--no-once=1"], "--no-once: it takes no value"),
        (["--no-redis.url"], "--no-redis.url: there is no such flag, did you mean --redis.url?"),
        (["-x"], '"-x": arguments are not expected, only flags that begin with --'),
        (["--config.file", "gone.yml"], '--config.file: cannot read "gone.yml": No such file or directory'),
        (
            ["--redis.password", "S3CR3T"],
            (
                "--redis.password: there is no such flag, as every user of the machine could read the value; "
                "use QOBSERVE_REDIS_PASSWORD or --redis.password-file"
            ),
        ),
        (["--nonsense", "S3CR3T"], "--nonsense: there is no such flag"),
    ],
)
def test_a_wrong_flag_is_told(words: list[str], problem: str, yaml_file: Callable[[str], list[str]]) -> None:
    yaml_file("")
    assert problems(words) == [problem]


def test_every_wrong_element_of_a_list_is_told(yaml_file: Callable[[str], list[str]]) -> None:
    words = yaml_file('web: {listen-address: [a, ":1", b, {c: d}]}\n')
    flags = ["--queues.static", ":a", "--queues.static", "good", "--queues.static", "b:"]
    assert problems([*words, *flags], {"QOBSERVE_REDIS_SENTINEL": "s:0,good,t:99999"}) == [
        "config.yml: web.listen-address: a list of values is expected",
        *(
            f'config.yml: web.listen-address: "{text}" is not an address: '
            "write :PORT, HOST:PORT or [IPv6]:PORT, with a port up to 65535"
            for text in ("a", "b")
        ),
        *(
            f'QOBSERVE_REDIS_SENTINEL: "{text}" is not an address: write HOST:PORT or [IPv6]:PORT'
            for text in ("s:0", "t:99999")
        ),
        *(f'--queues.static: "{text}" is not a queue: write NAME or PREFIX:NAME' for text in (":a", "b:")),
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["--redis.url", "app:topsecret@127.0.0.1:21061"],
        ["--redis.url", "redis:u:topsecret@h"],
        ["--redis.url", "redis://u:topsecret"],
        ["--redis.url", "topsecret@h"],
        ["--redis.url", "//u:topsecret"],
        ["--redis.url", "u:topsecret@redis://h"],
        ["--redis.url", "redis://u:topsecret@a,b"],
        ["--redis.url:redis://u:topsecret@h"],
        ["--redis.url:u:topsecret"],
        ["--redis.sentinel", "u:topsecret@h:1"],
        ["--redis.sentinel", "u:topsecret"],
        ["--web.listen-address", "u:topsecret@h:1"],
        ["--redis.timeout", "u:topsecret@h:1"],
        ["--redis.password-file", "redis://u:topsecret@h"],
        ["u:topsecret@h"],
        ["u:topsecret"],
    ],
    ids=str,
)
def test_no_mistake_shows_a_password(words: list[str]) -> None:
    (told,) = problems(words)
    assert "topsecret" not in told
    assert "***" in told


@pytest.mark.parametrize(
    "text",
    [
        "redis: {sentinel: 'u:topsecret@h:1'}",
        "redis: {'u:topsecret@h': 1}",
        "targets: {'u:topsecret@h': {redis: {url: 'redis://u:topsecret@h'}}}",
    ],
)
def test_no_mistake_in_a_file_shows_a_password(text: str, yaml_file: Callable[[str], list[str]]) -> None:
    (told,) = problems(yaml_file(text))
    assert "topsecret" not in told
    assert "***@h" in told


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "discovery: {scan-count: 1, scan_count: 2}",
            "discovery.scan_count: discovery.scan-count is the same setting, keep one of the two",
        ),
        (
            "discovery.interval: 1s\ndiscovery: {interval: 1s}",
            "discovery.interval: it is given twice, in the lines 1 and 2",
        ),
        (
            "collector: {workers: false}\ncollector.workers: {enabled: true}",
            "collector.workers.enabled: collector.workers is the same setting, keep one of the two",
        ),
        (
            "slo: {queues: {a: {wait: 1s}}}\nslo.queues: {b: {wait: 1s}}",
            "slo.queues: it is given twice, in the lines 1 and 2",
        ),
        (
            "targets: {a: {redis: {url: 'redis://h', connect-timeout: 1s, connect_timeout: 1s}}}",
            (
                "targets.a.redis.connect_timeout: targets.a.redis.connect-timeout is the same setting, "
                "keep one of the two"
            ),
        ),
    ],
)
def test_a_setting_under_two_spellings_is_a_mistake(
    text: str, problem: str, yaml_file: Callable[[str], list[str]]
) -> None:
    assert problems(yaml_file(text)) == [f"config.yml: {problem}"]


def test_variables_of_the_demo_are_not_the_exporters() -> None:
    assert load_settings([], {"QOBSERVE_DEMO_DURATION": "soon"}) == Settings()


def test_flags_have_several_forms() -> None:
    words = ["--no-collector.age", "--collector.redis_safety=off", "--queues.include=a", "--queues.include", "b,c"]
    settings = load_settings(words, NO_ENVIRONMENT)
    assert [name for name, on in settings.collectors.items() if not on] == ["age", "redis_safety"]
    assert settings.targets["default"].queues.include == ("a", "b,c")


def test_a_list_in_the_environment_is_split_at_commas_and_an_empty_variable_is_none() -> None:
    environ = {"QOBSERVE_QUEUES_STATIC": "mail, {b}:sms,", "QOBSERVE_REDIS_URL": "", "OTHER": "x"}
    settings = load_settings([], environ)
    assert settings.targets["default"].queues.static == ("bull:mail", "{b}:sms")
    assert settings.targets["default"].url == TargetSettings().url


@pytest.mark.parametrize(
    "name",
    [
        "QOBSERVE_SERVICE_HOST",
        "QOBSERVE_SERVICE_PORT",
        "QOBSERVE_SERVICE_PORT_HTTP",
        "QOBSERVE_PORT",
        "QOBSERVE_PORT_10538_TCP",
        "QOBSERVE_PORT_10538_TCP_ADDR",
        "QOBSERVE_REDIS_SERVICE_HOST",
        "QOBSERVE_REDIS_PORT_6379_TCP_PROTO",
    ],
)
def test_what_kubernetes_sets_for_services_is_no_setting(name: str) -> None:
    assert load_settings([], {name: "tcp://10.0.0.1:6379"}) == Settings()


def test_the_file_says_what_flags_say(yaml_file: Callable[[str], list[str]]) -> None:
    words = yaml_file(
        """
redis: {url: "redis://r", database: 3, read_from: primary, password: geheim}
discovery: {enabled: yes, prefix: [bull, "a:b"], scan-count: 500, interval: 1m}
queues: {static: mail, exclude: ["*test*"]}
web: {listen-address: [":1", "127.0.0.1:2"], timeout-offset: 250ms}
collector: {workers: {enabled: off, max-clients: 7}, payload: false, schedulers: }
log: {level: debug, format: json}
"""
    )
    settings = load_settings(words, NO_ENVIRONMENT)
    target = settings.targets["default"]
    assert target.password is not None
    assert (target.url, target.database, target.password.get_secret_value()) == ("redis://r", 3, "geheim")
    assert (target.discovery.prefixes, target.discovery.scan_count, target.discovery.interval) == (
        ("bull", "a:b"),
        500,
        60.0,
    )
    assert (target.queues.static, target.queues.exclude, target.workers_max_clients) == (("bull:mail",), ("*test*",), 7)
    assert (settings.web.listen_addresses, settings.web.timeout_offset) == ((":1", "127.0.0.1:2"), 0.25)
    assert [name for name, on in settings.collectors.items() if not on] == ["workers", "payload"]
    assert (settings.log.level, settings.log.format) == ("debug", "json")


def test_named_targets_stand_for_themselves(yaml_file: Callable[[str], list[str]]) -> None:
    words = yaml_file(
        """
targets:
  eu: {redis: {url: "redis://eu"}, discovery: {interval: 30s}}
  us: {redis: {sentinel: [s1], sentinel-master: m}}
discovery: {interval: 5s}
collector: {schedulers: {limit: 3}}
"""
    )
    targets = load_settings(words, NO_ENVIRONMENT).targets
    assert list(targets) == ["eu", "us"]
    assert (targets["eu"].url, targets["eu"].discovery.interval, targets["eu"].schedulers_limit) == (
        "redis://eu",
        30,
        3,
    )
    assert (targets["us"].sentinel, targets["us"].discovery.interval) == (("s1:26379",), 10)
    with_default = load_settings([*words, "--redis.url", "redis://top"], NO_ENVIRONMENT).targets
    assert (list(with_default), with_default["default"].discovery.interval) == (["default", "eu", "us"], 5)


def test_a_target_needs_a_name_of_its_own(yaml_file: Callable[[str], list[str]]) -> None:
    words = yaml_file('targets: {default: {redis: {url: "redis://a"}}, "a b": {redis: {url: "redis://a"}}}')
    assert problems([*words, "--redis.url=redis://x"]) == [
        'config.yml: targets.default: the settings under "redis" already are the target of this name',
        "config.yml: targets.a b: a name of up to 64 letters, digits and _.- is expected",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [1", "config.yml: line 1: this is no valid YAML: expected ',' or ']', but got '<stream end>'"),
        ("a:\n  - b\n c: d", "config.yml: line 3: this is no valid YAML: expected <block end>"),
        ("redis:\n  url: redis://a\nredis: {}\n", "config.yml: redis: it is given twice, in the lines 1 and 3"),
        ("- a", "config.yml: keys and values are expected here, in the form KEY: VALUE"),
        ("a: 1\n---\nb: 2", "config.yml: line 2: this is no valid YAML"),
        ("\x00", "config.yml: this is no valid YAML: unacceptable character"),
        ("[" * 600, "config.yml: this YAML is nested too deeply"),
        ("redis: &a {url: *a}", "config.yml: "),
        ("? [a, b]\n: c", "config.yml: ?: there is no such key"),
    ],
)
def test_a_file_that_is_no_settings(text: str, problem: str, yaml_file: Callable[[str], list[str]]) -> None:
    (told,) = problems(yaml_file(text))
    assert told.startswith(problem)


def test_an_empty_file_says_nothing(yaml_file: Callable[[str], list[str]]) -> None:
    settings = load_settings(yaml_file("# nothing\n"), NO_ENVIRONMENT)
    assert settings.targets == Settings().targets


def test_a_password_in_a_flag_is_taken_with_a_warning_and_one_in_the_environment_without() -> None:
    settings = load_settings(["--redis.url", "redis://:S3CR3T@h"], NO_ENVIRONMENT)
    assert settings.targets["default"].url == "redis://:S3CR3T@h"
    assert [warning.split(";")[0] for warning in settings.warnings] == [
        "The password in --redis.url can be read by every user of this machine"
    ]
    assert not load_settings([], {"QOBSERVE_REDIS_URL": "redis://:S3CR3T@h"}).warnings


def test_no_password_shows_in_the_settings() -> None:
    environ = {"QOBSERVE_REDIS_URL": "redis://u:S3CR3T@h", "QOBSERVE_REDIS_PASSWORD": "S3CR3T"}
    settings = load_settings([], environ)
    assert "S3CR3T" not in f"{settings!r} {settings}"
    assert "redis://u:***@h" in repr(settings)


def test_a_promise_is_the_first_rule_that_matches_else_the_default(yaml_file: Callable[[str], list[str]]) -> None:
    words = yaml_file(
        """
slo:
  objective: 99.5%
  queues:
    "mail-slow": {wait: 1h, objective: 0.9}
    "mail*": {wait: 30s}
    "a:b:*": {wait: 1s}
    "*": {}
"""
    )
    settings = load_settings(words, NO_ENVIRONMENT)
    assert settings.slo_for("bull", "mail-slow") == Slo(wait=3600, objective=0.9)
    assert settings.slo_for("bull", "mail-fast") == Slo(wait=30, objective=0.995)
    assert settings.slo_for("a:b", "x") == Slo(wait=1, objective=0.995)
    assert settings.slo_for("bull", "x") == Slo(wait=None, objective=0.995)
    assert Settings().slo_for("bull", "x") is None
