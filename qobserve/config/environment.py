"""Environment variables as a source of settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from qobserve.config.given import Given, Rank, Source, did_you_mean
from qobserve.config.setting import OF_OTHER_COMMANDS, PREFIX
from qobserve.config.table import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qobserve.config.setting import Setting

# Kubernetes sets these in every pod for a service whose name begins with "qobserve".
_SERVICE_LINK = re.compile(
    r"\w*(_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT|_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)


def read_environment(
    environ: Mapping[str, str], settings: Sequence[Setting] = SETTINGS, prefix: str = PREFIX
) -> Source:
    """What the variables that begin with `prefix` say about these settings; an empty one counts as not set.

    Those of another command are nobody else's business.
    """
    known = {setting.variable: setting for setting in settings}
    givens: list[Given] = []
    problems: list[str] = []
    for name in sorted(name for name in environ if name.startswith(prefix) and environ[name] != ""):
        setting = known.get(name)
        if setting is not None:
            givens.append(
                Given(setting=setting, texts=_texts(setting, environ[name]), source=name, rank=Rank.ENVIRONMENT)
            )
        elif not _SERVICE_LINK.fullmatch(name) and not (prefix == PREFIX and name.startswith(OF_OTHER_COMMANDS)):
            problems.append(f"{name}: there is no such setting{did_you_mean(name, known)}")
    return Source(givens=tuple(givens), problems=tuple(problems))


def _texts(setting: Setting, text: str) -> tuple[str, ...]:
    if not setting.kind.many:
        return (text,)
    return tuple(part.strip() for part in text.split(",") if part.strip())
