"""One target from its resolved settings, with the checks that need more than one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qobserve.config.redis_url import scheme, url_database
from qobserve.config.settings import DiscoverySettings, QueueSettings, TargetSettings
from qobserve.config.shown import quoted_name
from qobserve.config.table import SETTINGS
from qobserve.config.tls_files import tls_file_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qobserve.config.resolve import Resolved

_TLS = tuple(s.name for s in SETTINGS if s.name.startswith("redis.tls-"))
_SENTINEL_PARTS = tuple(s.name for s in SETTINGS if s.name.startswith("redis.sentinel-"))


def build_target(resolved: Resolved, limits: Resolved, at: str) -> tuple[TargetSettings, list[str]]:
    """The target and its mistakes.

    `limits` holds the collectors' bounds; `at` begins a sentence that is about no setting in particular.
    """
    problems = [*_exclusive(resolved), *_tls(resolved), *_watches_something(resolved, at)]
    fields = {s.field: resolved.get(s.name) for s in SETTINGS if s.section == "redis"}
    for field in ("password", "sentinel_password"):
        try:
            fields[field] = _password(resolved, f"redis.{field.replace('_', '-')}")
        except ValueError as exc:
            problems.append(str(exc))
    if problems:
        return TargetSettings(), problems
    values = {
        **fields,
        "discovery": DiscoverySettings.model_validate(_section(resolved, "discovery")),
        "queues": QueueSettings.model_validate(_section(resolved, "queues")),
        "workers_max_clients": limits.get("collector.workers.max-clients"),
        "schedulers_limit": limits.get("collector.schedulers.limit"),
    }
    return TargetSettings.model_validate(values), []


def _section(resolved: Resolved, section: str) -> dict[str, object]:
    return {s.field: resolved.get(s.name) for s in SETTINGS if s.section == section}


def _exclusive(resolved: Resolved) -> Iterator[str]:
    sentinel = bool(resolved.get("redis.sentinel"))
    cluster = bool(resolved.get("redis.cluster"))
    values = resolved.values
    if sentinel and cluster:
        other = values["redis.sentinel"].source
        yield f"{values['redis.cluster'].source}: a cluster has no Sentinels, but {other} names some"
    if sentinel and resolved.get("redis.sentinel-master") is None and resolved.sure("redis.sentinel-master"):
        yield f"{values['redis.sentinel'].source}: the master's name is missing, set redis.sentinel-master as well"
    if not sentinel and resolved.sure("redis.sentinel"):
        for value in resolved.given(*_SENTINEL_PARTS):
            yield f"{value.source}: it is of use with Sentinels only, set redis.sentinel as well"
    one_node = not sentinel and not cluster and resolved.sure("redis.sentinel", "redis.cluster")
    if one_node and resolved.get("redis.read-from") == "replica":
        yield (
            f"{values['redis.read-from'].source}: replicas are found through Sentinels or a cluster only; "
            "to read one replica, give its own address as redis.url"
        )
    if resolved.sure("redis.url", "redis.database"):
        yield from _one_server(resolved, sentinel=sentinel, cluster=cluster)


def _one_server(resolved: Resolved, *, sentinel: bool, cluster: bool) -> Iterator[str]:
    values, url = resolved.values, str(resolved.get("redis.url"))
    if scheme(url) == "unix" and (sentinel or cluster):
        yield f"{values['redis.url'].source}: a unix socket is neither a cluster nor behind Sentinels"
    if cluster and (resolved.get("redis.database") or (resolved.get("redis.database") is None and url_database(url))):
        yield f"{values['redis.cluster'].source}: a cluster has the database 0 only"


def _tls(resolved: Resolved) -> Iterator[str]:
    cert, key, ca = (f"redis.tls-{part}-file" for part in ("client-cert", "client-key", "ca-cert"))
    plain = scheme(str(resolved.get("redis.url"))) != "rediss" and not resolved.get("redis.sentinel-tls")
    if plain and resolved.sure("redis.url", "redis.sentinel-tls"):
        for value in resolved.given(*_TLS):
            if value.value is not False:
                yield f"{value.source}: it is of use with TLS only, and the URL does not begin with rediss://"
    yield from tls_file_problems(resolved, ca, cert, key)


def _watches_something(resolved: Resolved, at: str) -> Iterator[str]:
    nothing = not resolved.get("discovery.enabled") and not resolved.get("queues.static")
    if nothing and resolved.sure("discovery.enabled", "queues.static"):
        value = resolved.values.get("discovery.enabled")
        yield f"{value.source if value else at}: without discovery the queues must be listed, set queues.static"


def _password(resolved: Resolved, name: str) -> object:
    """The password itself, whether it is given or stands in a file; the higher source wins."""
    direct, file = resolved.values.get(name), resolved.values.get(f"{name}-file")
    if direct and file and direct.rank == file.rank:
        raise ValueError(f"{direct.source}: {file.source} is given as well, keep one of the two")
    if file is None or (direct and direct.rank > file.rank):
        return direct.value if direct else None
    try:
        text = Path(str(file.value)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ValueError(f"{file.source}: cannot read the password as UTF-8 text: {_reason(exc)}") from exc
    password = text.removesuffix("\n").removesuffix("\r")
    if not password:
        raise ValueError(f"{file.source}: {quoted_name(str(file.value))} is empty")
    return password


def _reason(exc: OSError | UnicodeDecodeError) -> str:
    return exc.reason if isinstance(exc, UnicodeDecodeError) else exc.strerror or str(exc)
