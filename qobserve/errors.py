"""Every exception that qobserve raises on purpose.

    QobserveError
    ├── SettingsError          what a person gave us is wrong; lists every mistake (exit 64)
    ├── RedisError             the Redis that we were asked to watch did not serve us
    │   ├── RedisUnreachable   no connection, or it ended: refused, reset, TLS, name look-up
    │   ├── RedisTimeout       connected, but no answer in time
    │   ├── RedisRefused       it answered and said no: password, permission, database index
    │   └── RedisNotReady      it answered "not now": loading, failing over, cluster down
    └── MissingExtra           a part of the package that is not installed was asked for

A message says what happened, to which target, and what to do about it; what it is about stays on the exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class QobserveError(Exception):
    """The root: catch it to catch everything that qobserve raises on purpose."""


class SettingsError(QobserveError):
    """Flags, environment variables or configuration keys are wrong; `problems` lists all of them, one sentence each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


class RedisError(QobserveError):
    """The Redis that we were asked to watch did not serve us; `reason` is one lower-case word for logs."""

    reason = "error"


class RedisUnreachable(RedisError):  # noqa: N818 - the family's name already says that it is an error
    """No connection could be made, or it ended in the middle."""

    reason = "unreachable"


class RedisTimeout(RedisError):  # noqa: N818 - as above
    """Redis is connected but did not answer in time."""

    reason = "timeout"


class RedisRefused(RedisError):  # noqa: N818 - as above
    """Redis answered and said no: wrong password, missing permission, no such database."""

    reason = "refused"


class RedisNotReady(RedisError):  # noqa: N818 - as above
    """Redis answered that it cannot serve now: it is loading its data, failing over, or its cluster is down."""

    reason = "not_ready"


class MissingExtra(QobserveError):  # noqa: N818 - reads as what it is
    """A part of qobserve whose dependencies are not installed; the message names the install line."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs packages that are not installed: pip install 'qobserve[{extra}]'")
        self.extra = extra
