"""The reference of all settings in Markdown, made from their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qobserve.config.table import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qobserve.config.setting import Setting

_HEAD = ("| Flag | Environment | Default | What it does |", "|---|---|---|---|")


def settings_reference() -> str:
    """One table of all settings, in the order of their table; it ends with a line break."""
    return "\n".join([*_HEAD, *map(_row, SETTINGS)]) + "\n"


def left_out(settings: Sequence[Setting]) -> str:
    """A sentence's list of what is not among these settings, by whole sections where nothing of them is."""
    kept = {"general", *(setting.section for setting in settings)}
    missing = [setting for setting in SETTINGS if setting not in settings]
    named = [f"`--{x.section}.*`" if x.section not in kept else f"`{x.flag}`" for x in missing]
    return ", ".join(dict.fromkeys(named))


def flag_forms(setting: Setting) -> str:
    """How the setting is written on a command line; empty for a secret, which has no flag."""
    if setting.secret:
        return ""
    return f"{setting.flag}, --no-{setting.name}" if setting.kind.flag else f"{setting.flag} {setting.kind.metavar}"


def _row(setting: Setting) -> str:
    flags = (
        " ".join(f"`{form}`" for form in flag_forms(setting).split(", ") if form) or "none, so that `ps` cannot show it"
    )
    notes = [setting.help]
    if not setting.yaml:
        notes.append("Not in the file.")
    if not setting.reload and setting.yaml:
        notes.append("A change needs a restart.")
    cells = (
        flags,
        f"`{setting.variable}`",
        f"`{setting.shown_default}`" if setting.shown_default else "",
        " ".join(notes),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
