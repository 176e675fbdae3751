"""Fixtures for all tests: disposable servers and clients to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rig.certificates import make_certificates
from rig.programs import KINDS
from rig.servers import DEFAULT_KIND, ServerOptions, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import redis
    from rig.certificates import Certificates
    from rig.servers import Server


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], Server]]:
    """One plain server of each kind for the whole run, started when it is first asked for; emptied at each request."""
    started: dict[str, Server] = {}

    def get(kind: str) -> Server:
        if kind not in started:
            started[kind] = start(kind, ServerOptions())
        with started[kind].client() as client:
            client.flushall()
        return started[kind]

    yield get
    for server in started.values():
        server.close()


@pytest.fixture
def server(servers: Callable[[str], Server]) -> Server:
    """An empty server of the default kind."""
    return servers(DEFAULT_KIND)


@pytest.fixture(params=KINDS)
def any_server(request: pytest.FixtureRequest, servers: Callable[[str], Server]) -> Server:
    """An empty server, of each kind in turn."""
    kind: str = request.param
    return servers(kind)


@pytest.fixture
def redis_client(server: Server) -> Iterator[redis.Redis]:
    """A synchronous client to `server`; answers are bytes."""
    with server.client() as client:
        yield client


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificate files for TLS servers and their clients."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))
