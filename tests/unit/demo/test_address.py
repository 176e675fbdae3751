"""Where the demo listens."""

from __future__ import annotations

import socket

import pytest

from qobserve.demo.address import Address, free_port
from qobserve.errors import QobserveError


def test_a_free_port_is_kept() -> None:
    address = Address(host="127.0.0.1", port=free_port())
    assert address.free() == address


def test_a_taken_port_gives_another_one_of_the_same_host() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = Address(host="127.0.0.1", port=other.getsockname()[1])
        free = address.free()
    assert free.host == "127.0.0.1"
    assert free.port not in {0, address.port}


def test_port_zero_is_any_free_one() -> None:
    assert Address(host="127.0.0.1", port=0).free().port > 0


def test_a_host_that_is_not_ours_is_one_sentence() -> None:
    with pytest.raises(QobserveError, match=r"^cannot listen on 192\.0\.2\.1:80: "):
        Address(host="192.0.2.1", port=80).free()


@pytest.mark.parametrize(
    ("host", "text", "local"),
    [
        ("127.0.0.1", "127.0.0.1:80", "127.0.0.1:80"),
        ("", ":80", "127.0.0.1:80"),
        ("0.0.0.0", "0.0.0.0:80", "127.0.0.1:80"),  # noqa: S104 - only written and read, never bound
        ("::", "[::]:80", "[::1]:80"),
        ("::1", "[::1]:80", "[::1]:80"),
    ],
)
def test_an_address_reads_as_it_is_written_and_is_reached_on_this_machine(host: str, text: str, local: str) -> None:
    address = Address(host=host, port=80)
    assert (str(address), str(address.local)) == (text, local)
