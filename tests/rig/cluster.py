"""A Redis Cluster of disposable servers."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rig.child import wait_until
from rig.servers import DEFAULT_KIND, ServerOptions, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import redis

    from rig.servers import Server

_SLOTS = 16_384


@contextlib.contextmanager
def cluster(
    kind: str = DEFAULT_KIND, *, nodes: int = 3, options: ServerOptions | None = None
) -> Iterator[list[Server]]:
    """A cluster of that many primaries, with all slots served."""
    with contextlib.ExitStack() as stack:
        setup = replace(options or ServerOptions(), cluster=True)
        members = [stack.enter_context(running(kind, setup)) for _ in range(nodes)]
        clients = [stack.enter_context(member.client(decode_responses=True)) for member in members]
        for index, client in enumerate(clients):
            slots = range(_SLOTS * index // nodes, _SLOTS * (index + 1) // nodes)
            client.execute_command("CLUSTER ADDSLOTS", *slots)
            client.execute_command("CLUSTER MEET", "127.0.0.1", members[0].port)
        for client in clients:
            wait_until(partial(_is_whole, client, nodes), "the cluster to be whole", timeout=20)
        yield members


def _is_whole(client: redis.Redis, nodes: int) -> bool:
    facts: dict[str, str] = client.cluster("INFO")
    return bool(
        facts["cluster_state"] == "ok"
        and int(facts["cluster_slots_ok"]) == _SLOTS
        and int(facts["cluster_known_nodes"]) == nodes
    )
