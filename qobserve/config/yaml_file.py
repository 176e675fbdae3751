"""The YAML file as a source of settings: its scalars stay texts, so that they mean what they mean in a flag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

from qobserve.config.given import Given, Rank, Source, did_you_mean
from qobserve.config.shown import quoted_name, redacted
from qobserve.config.table import BY_NAME, SETTINGS
from qobserve.config.target_table import TARGET_SECTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from qobserve.config.setting import Setting

_SECTIONS = {s.name[:i] for s in SETTINGS for i, char in enumerate(s.name) if char == "." and s.yaml}
_TARGETS = "targets"
_SLO_QUEUES = "slo.queues"
_YAML_NAMES = [s.name for s in SETTINGS if s.yaml]
_NULL = "tag:yaml.org,2002:null"
_SPOKEN: set[Path] = set()
"""Files in which this process has found settings: one that is empty at a later reload would drop all its targets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlFile:
    """What stands in a file: the settings, those of each named target, and those of each pattern under `slo.queues`.

    `shown` is what messages call the file.
    """

    shown: str
    top: Source
    targets: Mapping[str, Source]
    slo_queues: Mapping[str, Source]


def read_yaml(path: Path, shown: str) -> YamlFile:
    """Everything that the file says, with every mistake in its form; `shown` is the file's name in messages."""
    try:
        root = parse(path.read_bytes(), shown)
    except ValueError as exc:
        return YamlFile(shown=shown, top=Source(problems=(str(exc),)), targets={}, slo_queues={})
    empty = root is None or is_null(root)
    if empty and path.absolute() in _SPOKEN:
        problem = f"{shown}: it is empty and was not before, as while it is being written: reload once it is whole"
        return YamlFile(shown=shown, top=Source(problems=(problem,)), targets={}, slo_queues={})
    if not empty:
        _SPOKEN.add(path.absolute())
    walk = _Walk(shown=shown, folder=path.parent)
    walk.mapping(root, "", "", _top_level)
    return YamlFile(shown=shown, top=walk.source(), targets=_targets(walk), slo_queues=_slo_queues(walk))


def parse(content: bytes, shown: str) -> yaml.Node | None:
    """The root node of a YAML document, None when it is empty.

    Raises:
        ValueError: it is no YAML; the sentence names the line.
    """
    try:
        return yaml.compose(content, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        line = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(f"{shown}: {line}this is no valid YAML: {exc.problem or exc.context}") from exc
    except (yaml.YAMLError, UnicodeDecodeError) as exc:
        raise ValueError(f"{shown}: this is no valid YAML: {str(exc).splitlines()[0]}") from exc
    except RecursionError as exc:
        raise ValueError(f"{shown}: this YAML is nested too deeply") from exc


def entries(node: yaml.MappingNode, describe: Callable[[str], str]) -> Iterator[tuple[str, yaml.Node, str]]:
    """The key, value and problem (empty when there is none) of each entry of a mapping."""
    first_lines: dict[str, int] = {}
    for key_node, value in node.value:
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
        line = key_node.start_mark.line + 1
        problem = ""
        if key in first_lines:
            problem = f"{describe(key)}: it is given twice, in the lines {first_lines[key]} and {line}"
        first_lines.setdefault(key, line)
        yield key, value, problem


def is_null(node: yaml.Node) -> bool:
    """Whether a value was left out or written as null."""
    return isinstance(node, yaml.ScalarNode) and node.tag == _NULL


class _Walk:
    """Collects the settings below one node."""

    def __init__(self, *, shown: str, folder: Path) -> None:
        self.shown = shown
        self.folder = folder
        self.givens: list[Given] = []
        self.problems: list[str] = []
        self.target_nodes: dict[str, yaml.Node] = {}
        self.slo_nodes: dict[str, yaml.Node] = {}
        self._said: dict[str, tuple[str, int]] = {}
        self._wrong: set[str] = set()

    def source(self) -> Source:
        return Source(givens=tuple(self.givens), problems=tuple(self.problems), wrong=frozenset(self._wrong))

    def fork(self) -> _Walk:
        return _Walk(shown=self.shown, folder=self.folder)

    def mapping(self, node: yaml.Node | None, label: str, name: str, accepts: Callable[[str], bool]) -> None:
        """Read a section; `label` is its place in the file, `name` the beginning of its settings' names."""
        if node is None or is_null(node):
            return
        if not isinstance(node, yaml.MappingNode):
            self.problems.append(f"{self._at(label)}: keys and values are expected here, in the form KEY: VALUE")
            return
        for key, value, problem in entries(node, lambda key: self._at(_join(label, key))):
            if problem:
                self.problems.append(problem)
            else:
                self._entry(value, _join(label, key), _join(name, key.replace("_", "-")), accepts)

    def named(self, node: yaml.Node, label: str) -> dict[str, yaml.Node]:
        """The entries of a mapping whose keys are names that a person chose."""
        if is_null(node):
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.problems.append(f"{self._at(label)}: keys and values are expected here, in the form NAME: ...")
            return {}
        found: dict[str, yaml.Node] = {}
        for key, value, problem in entries(node, lambda key: self._at(_join(label, key))):
            if problem:
                self.problems.append(problem)
            else:
                found[key] = value
        return found

    def _entry(self, node: yaml.Node, label: str, name: str, accepts: Callable[[str], bool]) -> None:
        setting = BY_NAME.get(name.removesuffix(".enabled") if _switch(name) else name)
        if not accepts(name):
            known = [known for known in (*_YAML_NAMES, *sorted(_SECTIONS), _TARGETS, _SLO_QUEUES) if accepts(known)]
            self.problems.append(f"{self._at(redacted(label))}: there is no such key{did_you_mean(name, known)}")
        elif name == _TARGETS:
            self.target_nodes = self.named(node, label)
        elif name == _SLO_QUEUES:
            self.slo_nodes |= self.named(node, label) if self._first(name, node, label) else {}
        elif setting is None or (name in _SECTIONS and isinstance(node, yaml.MappingNode)):
            self.mapping(node, label, name, accepts)
        elif not setting.yaml:
            self.problems.append(
                f"{self._at(label)}: it may not stand in a file, use {setting.flag} or {setting.variable}"
            )
        else:
            self._leaf(setting, node, label)

    def _leaf(self, setting: Setting, node: yaml.Node, label: str) -> None:
        if is_null(node) or not self._first(setting.name, node, label):
            return
        items = node.value if isinstance(node, yaml.SequenceNode) else [node]
        texts = tuple(item.value for item in items if isinstance(item, yaml.ScalarNode))
        if len(texts) < len(items):
            self._wrong.add(setting.name)
            self.problems.append(
                f"{self._at(label)}: {'a list of values' if setting.kind.many else 'one value'} is expected"
            )
        elif isinstance(node, yaml.SequenceNode) and not setting.kind.many:
            self._wrong.add(setting.name)
            self.problems.append(f"{self._at(label)}: one value is expected, not a list")
            return
        if texts or not items:
            at = self._at(label)
            self.givens.append(Given(setting=setting, texts=texts, source=at, rank=Rank.FILE, folder=self.folder))

    def _first(self, name: str, node: yaml.Node, label: str) -> bool:
        """Whether nothing was said under this name yet; a name has several spellings, and may be nested or dotted."""
        line = node.start_mark.line + 1
        if name not in self._said:
            self._said[name] = (label, line)
            return True
        first, first_line = self._said[name]
        twice = f"it is given twice, in the lines {first_line} and {line}"
        same = f"{first} is the same setting, keep one of the two"
        self.problems.append(f"{self._at(label)}: {twice if first == label else same}")
        return False

    def _at(self, label: str) -> str:
        return f"{self.shown}: {label}" if label else self.shown


def _top_level(name: str) -> bool:
    if name in {_TARGETS, _SLO_QUEUES} or name in BY_NAME or name in _SECTIONS:
        return True
    return _switch(name)


def _switch(name: str) -> bool:
    # `collector: {workers: {enabled: false}}` is the only way to write the switch beside its sub-settings.
    head, _, tail = name.rpartition(".")
    return tail == "enabled" and head in BY_NAME and head in _SECTIONS


def _of_target(name: str) -> bool:
    return _top_level(name) and name.split(".", 1)[0] in TARGET_SECTIONS


def _of_slo(name: str) -> bool:
    return name in {"slo.wait", "slo.objective"}


def _targets(walk: _Walk) -> dict[str, Source]:
    found: dict[str, Source] = {}
    for alias, node in walk.target_nodes.items():
        part = walk.fork()
        part.mapping(node, f"targets.{redacted(alias)}", "", _of_target)
        found[alias] = part.source()
    return found


def _slo_queues(walk: _Walk) -> dict[str, Source]:
    found: dict[str, Source] = {}
    for pattern, node in walk.slo_nodes.items():
        part = walk.fork()
        part.mapping(node, f"slo.queues.{quoted_name(pattern)}", "slo", _of_slo)
        found[pattern] = part.source()
    return found


def _join(head: str, tail: str) -> str:
    return f"{head}.{tail}" if head else tail
