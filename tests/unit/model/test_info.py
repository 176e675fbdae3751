"""INFO as the servers print it."""

from __future__ import annotations

import pytest

from qobserve.model.info import parse_info, redis_facts
from qobserve.model.snapshot import RedisFacts

REDIS = (
    b"# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nexecutable:/usr/bin/redis-server: old\r\n"
    b"config_file:\r\n\r\n# Clients\r\nconnected_clients:9\r\n\r\n# Memory\r\nused_memory:768\r\nmaxmemory:1024\r\n"
    b"maxmemory_policy:noeviction\r\n\r\n# Persistence\r\nloading:0\r\naof_enabled:1\r\n\r\n# Stats\r\n"
    b"evicted_keys:3\r\n\r\n# Replication\r\nrole:master\r\n"
)
VALKEY = b"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\nserver_mode:cluster\r\nrole:slave\r\n"
DRAGONFLY = b"redis_version:7.4.0\r\ndragonfly_version:df-v1.25.1\r\nredis_mode:standalone\r\n"


@pytest.mark.parametrize(
    ("raw", "facts"),
    [
        pytest.param(
            REDIS,
            RedisFacts(
                server="redis",
                version="7.0.15",
                mode="standalone",
                role="master",
                eviction_policy="noeviction",
                aof_enabled=True,
                evicted_keys=3,
                memory_used=768,
                memory_limit=1024,
                connected_clients=9,
            ),
            id="redis",
        ),
        pytest.param(VALKEY, RedisFacts(server="valkey", version="9.1.2", mode="cluster", role="slave"), id="valkey"),
        pytest.param(
            DRAGONFLY,
            RedisFacts(server="dragonfly", version="df-v1.25.1", mode="standalone", role=""),
            id="dragonfly",
        ),
        pytest.param(b"", RedisFacts(server="redis", version="", mode="", role=""), id="nothing"),
        pytest.param(
            b"evicted_keys:many\r\naof_enabled:0\r\n\xff\xfe\r\nmaxmemory\r\n",
            RedisFacts(server="redis", version="", mode="", role="", aof_enabled=False),
            id="junk",
        ),
    ],
)
def test_facts(raw: bytes, facts: RedisFacts) -> None:
    assert redis_facts(parse_info(raw)) == facts


def test_a_value_keeps_its_colons_and_headings_are_no_fields() -> None:
    assert parse_info(b"# Server\r\na:b:c\r\nempty:\r\nno colon\r\n") == {"a": "b:c", "empty": ""}
