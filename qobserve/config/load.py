"""Flags, environment and file together: all settings, or all mistakes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qobserve.config.environment import read_environment
from qobserve.config.flags import read_flags
from qobserve.config.following import FollowSettings, MetricsSettings, TracingSettings
from qobserve.config.following_checks import following_problems
from qobserve.config.given import Rank, Source
from qobserve.config.resolve import resolve
from qobserve.config.settings import COLLECTOR_NAMES, DEFAULT_TARGET, LogSettings, Settings, Slo, SloRule, WebSettings
from qobserve.config.shown import has_password, redacted
from qobserve.config.table import SETTINGS
from qobserve.config.target import build_target
from qobserve.config.yaml_file import YamlFile, read_yaml
from qobserve.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.config.resolve import Resolved
    from qobserve.config.setting import Setting
    from qobserve.config.settings import TargetSettings

_NO_FILE = YamlFile(shown="", top=Source(), targets={}, slo_queues={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the sources amount to; the settings are of use only when there are no problems.

    The paths of the web configuration, the log's settings and those of traces are as good as can be told also with
    problems; `wrong` names the settings that were given a value that is none.
    """

    settings: Settings
    problems: tuple[str, ...]
    wrong: frozenset[str] = frozenset()


def load_settings(words: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """The settings from a command line's words, the environment and the file that one of them names.

    Raises:
        SettingsError: something is wrong; it lists every mistake of all sources.
    """
    outcome = collect(words, environ)
    if outcome.problems:
        raise SettingsError(outcome.problems)
    return outcome.settings


def collect(words: Sequence[str], environ: Mapping[str, str], flags_of: Sequence[Setting] = SETTINGS) -> Outcome:
    """As `load_settings`, but with the problems beside the settings.

    A command line may hold the flags of `flags_of` only; variables and file are those of all commands.
    """
    flags, environment = read_flags(words, flags_of, SETTINGS), read_environment(environ)
    file = _read_file(resolve(environment, flags))
    top = resolve(file.top, environment, flags)
    targets, target_problems = _targets(top, file)
    rules, rule_problems = _slo_rules(file)
    problems = (
        *flags.problems,
        *environment.problems,
        *file.top.problems,
        *top.problems,
        *target_problems,
        *rule_problems,
        *following_problems(top),
    )
    settings = Settings(
        targets=targets,
        web=WebSettings.model_validate(_fields(top, WebSettings)),
        collectors={name: bool(top.get(f"collector.{name.replace('_', '-')}")) for name in COLLECTOR_NAMES},
        slo=Slo.model_validate(_fields(top, Slo)),
        slo_rules=rules,
        follow=FollowSettings.model_validate(_fields(top, FollowSettings)),
        metrics=MetricsSettings.model_validate(_fields(top, MetricsSettings)),
        tracing=TracingSettings.model_validate(_fields(top, TracingSettings)),
        log=LogSettings.model_validate(_fields(top, LogSettings)),
        once=bool(top.get("once")),
        config_file=_path(top, "config.file"),
        config_check=bool(top.get("config.check")),
        warnings=_warnings(top),
    )
    return Outcome(settings=settings, problems=tuple(dict.fromkeys(problems)), wrong=top.wrong)


def _read_file(early: Resolved) -> YamlFile:
    path = _path(early, "config.file")
    return _NO_FILE if path is None else read_yaml(path, str(path))


def _path(resolved: Resolved, name: str) -> Path | None:
    value = resolved.get(name)
    return value if isinstance(value, Path) else None


def _fields(resolved: Resolved, owner: type) -> dict[str, object]:
    return {s.field: resolved.get(s.name) for s in SETTINGS if s.owner is owner}


def _targets(top: Resolved, file: YamlFile) -> tuple[dict[str, TargetSettings], list[str]]:
    targets: dict[str, TargetSettings] = {}
    problems: list[str] = []
    top_redis = any(name.startswith("redis.") for name in top.values)
    if top_redis or not file.targets:
        targets[DEFAULT_TARGET], found = build_target(top, top, "redis")
        problems += found
    for alias, source in file.targets.items():
        resolved = resolve(source)
        problems += [*source.problems, *resolved.problems]
        at = f"{file.shown}: targets.{redacted(alias)}"
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", alias):
            problems.append(f"{at}: a name of up to 64 letters, digits and _.- is expected")
        if alias == DEFAULT_TARGET and top_redis:
            problems.append(f'{at}: the settings under "redis" already are the target of this name')
        if not resolved.given("redis.url", "redis.sentinel") and not source.problems and not resolved.problems:
            problems.append(f"{at}: its address is missing, set redis.url below it")
        target, found = build_target(resolved, top, at)
        targets.setdefault(alias, target)
        problems += found
    return targets, problems


def _slo_rules(file: YamlFile) -> tuple[tuple[SloRule, ...], list[str]]:
    rules: list[SloRule] = []
    problems: list[str] = []
    for pattern, source in file.slo_queues.items():
        resolved = resolve(source)
        problems += [*source.problems, *resolved.problems]
        slo = Slo.model_validate({"wait": resolved.get("slo.wait"), "objective": resolved.get("slo.objective")})
        rules.append(SloRule(pattern=pattern, slo=slo))
    return tuple(rules), problems


def _warnings(top: Resolved) -> tuple[str, ...]:
    value = top.values.get("redis.url")
    if value is None or value.rank is not Rank.FLAG or not has_password(str(value.value)):
        return ()
    return (
        (
            "The password in --redis.url can be read by every user of this machine; "
            "use --redis.password-file or QOBSERVE_REDIS_PASSWORD instead."
        ),
    )
