"""What there is to know about one setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qobserve.config.settings import Settings

if TYPE_CHECKING:
    from qobserve.config.kinds import Kind
    from qobserve.config.values import Values


PREFIX = "QOBSERVE_"
DEMO_PREFIX = "QOBSERVE_DEMO_"
DASHBOARDS_PREFIX = "QOBSERVE_DASHBOARDS_"
ALERTS_PREFIX = "QOBSERVE_ALERTS_"
OF_OTHER_COMMANDS = (DEMO_PREFIX, DASHBOARDS_PREFIX, ALERTS_PREFIX)
"""How variables begin that are no business of the exporter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: `owner` and `field` say which value it fills, and so its default.

    `secret` keeps it off the command line, `reload` says whether a running exporter takes a new value,
    `yaml` whether it may stand in the configuration file; `prefix` begins its environment twin.
    """

    name: str
    kind: Kind
    owner: type[Values]
    field: str
    help: str
    secret: bool = False
    reload: bool = True
    yaml: bool = True
    prefix: str = PREFIX

    @property
    def flag(self) -> str:
        """The flag, in its positive form."""
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        """The environment twin."""
        return self.prefix + self.name.upper().replace(".", "_").replace("-", "_")

    @property
    def section(self) -> str:
        """The part of the name before its first dot; settings without one are `general`."""
        head, dot, _ = self.name.partition(".")
        return head if dot else "general"

    @property
    def default(self) -> object:
        """The value when no source gives one."""
        return (
            True
            if self.owner is Settings and self.field == "collectors"
            else self.owner.model_fields[self.field].default
        )

    @property
    def shown_default(self) -> str:
        """The default as a person would write it; empty when there is none."""
        if self.default is None or self.default == ():
            return ""
        values = self.default if isinstance(self.default, tuple) else (self.default,)
        return ",".join(self.kind.show(value) for value in values)
