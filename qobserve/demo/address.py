"""Where the demo listens: an address, and a free port when that of the address is taken."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass, replace

from qobserve.errors import QobserveError


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A host and a port to listen on; an empty host is every interface, port 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def local(self) -> Address:
        """The same place as a client on this machine reaches it."""
        everywhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - read, not bound
        return replace(self, host=everywhere.get(self.host, self.host))

    def free(self) -> Address:
        """This address when its port can be bound, else the same host with a free port.

        Raises QobserveError when the host is not ours or the port is not allowed to us.
        """
        try:
            return _bound(self)
        except OSError as exc:
            if exc.errno != errno.EADDRINUSE:
                raise QobserveError(f"cannot listen on {self}: {exc.strerror or exc}") from exc
        return _bound(replace(self, port=0))


def free_port() -> int:
    """A port of 127.0.0.1 that nothing listens on at this moment."""
    return _bound(Address(host="127.0.0.1", port=0)).port


def _bound(address: Address) -> Address:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family) as probe:
        # As servers bind: connections of an earlier run that are still closing do not count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address.host, address.port))
        return replace(address, port=probe.getsockname()[1])
