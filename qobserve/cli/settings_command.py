"""A click command whose flags are a table of settings; click shows them, qobserve.config reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from qobserve.config.setting import Setting

SECTION_TITLES = {
    "general": "General",
    "config": "Configuration",
    "redis": "Redis",
    "discovery": "Discovery",
    "queues": "Queues",
    "web": "Web",
    "collector": "Collectors",
    "slo": "Promises (SLO)",
    "follow": "Following the events",
    "metrics": "Metrics",
    "tracing": "Traces",
    "log": "Log",
}


class SettingsCommand(click.Command):
    """Hands all words to its callback as `words`: click would stop at the first mistake and hide the others."""

    def __init__(self, name: str, settings: Sequence[Setting], callback: Callable[[tuple[str, ...]], object]) -> None:
        super().__init__(
            name,
            callback=callback,
            params=list(settings_options(settings)),
            help=callback.__doc__,
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
        )
        self._settings = settings

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Only the help flag is click's business."""
        if any(word in ctx.help_option_names for word in args):
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        ctx.params = {"words": tuple(args)}
        ctx.args = []
        return []

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """All flags by section, with defaults and environment twins."""
        for section, title in SECTION_TITLES.items():
            rows = [(spelling(s), help_text(s)) for s in self._settings if s.section == section]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=34)


def settings_options(settings: Sequence[Setting]) -> Iterator[click.Option]:
    """The flags as click's own options, for its shell completion."""
    for setting in settings:
        if not setting.secret:
            name = setting.variable.lower()
            negative = f"/--no-{setting.name}" if setting.kind.flag else ""
            yield click.Option([setting.flag + negative, name], help=setting.help, multiple=setting.kind.many)


def spelling(setting: Setting) -> str:
    """How the setting is written on a command line; a secret only has its variable."""
    if setting.secret:
        return setting.variable
    return f"--[no-]{setting.name}" if setting.kind.flag else f"{setting.flag} {setting.kind.metavar}"


def help_text(setting: Setting) -> str:
    """The help sentence with what else there is to know."""
    facts = [f"default: {setting.shown_default}"] if setting.shown_default else []
    if setting.secret:
        facts.append("environment and file only")
    else:
        facts.append(f"env: {setting.variable}")
    return f"{setting.help}  [{'; '.join(facts)}]"
