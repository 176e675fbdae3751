"""INFO: what a server says about itself and about the safety of the jobs that it keeps."""

from __future__ import annotations

from qobserve.model.keys import text
from qobserve.model.snapshot import RedisFacts


def parse_info(raw: bytes) -> dict[str, str]:
    """The fields of INFO, as text."""
    lines = (text(line).partition(":") for line in raw.splitlines() if line and not line.startswith(b"#"))
    return {name: value for name, colon, value in lines if colon}


def redis_facts(info: dict[str, str]) -> RedisFacts:
    """The facts that matter to queues; what the server does not say is None."""
    server, version = _identity(info)
    return RedisFacts(
        server=server,
        version=version,
        mode=info.get("redis_mode") or info.get("server_mode", ""),
        role=info.get("role", ""),
        eviction_policy=info.get("maxmemory_policy"),
        aof_enabled=info["aof_enabled"] == "1" if "aof_enabled" in info else None,
        evicted_keys=_whole(info, "evicted_keys"),
        memory_used=_whole(info, "used_memory"),
        memory_limit=_whole(info, "maxmemory"),
        connected_clients=_whole(info, "connected_clients"),
    )


def _identity(info: dict[str, str]) -> tuple[str, str]:
    if "valkey_version" in info:
        return "valkey", info["valkey_version"]
    if "dragonfly_version" in info:
        return "dragonfly", info["dragonfly_version"]
    return "redis", info.get("redis_version", "")


def _whole(info: dict[str, str], name: str) -> int | None:
    try:
        return int(info[name])
    except (KeyError, ValueError):
        return None
