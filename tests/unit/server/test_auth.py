"""Passwords: who gets in, and that nothing tells whether a user exists."""

from __future__ import annotations

import base64
import time

import bcrypt
import pytest

from qobserve.server.auth import PasswordCheck, credentials

ALICE = bcrypt.hashpw(b"wonder", bcrypt.gensalt(4))
BOB = bcrypt.hashpw(b"builder", bcrypt.gensalt(4))
SLOW = bcrypt.hashpw(b"wonder", bcrypt.gensalt(11))


def basic(text: bytes) -> str:
    return "Basic " + base64.b64encode(text).decode()


async def test_only_a_user_with_the_right_password_gets_in() -> None:
    check, users = PasswordCheck(), {"alice": ALICE, "bob": BOB}
    for _ in range(2):  # the second time from what was remembered
        assert await check.allows(users, "alice", b"wonder")
        assert await check.allows(users, "bob", b"builder")
        for name, password in (("alice", b"builder"), ("alice", b""), ("eve", b"wonder"), ("", b""), ("eve", b"x\0")):
            assert not await check.allows(users, name, password)


async def test_a_changed_password_and_a_removed_user_are_out_at_once() -> None:
    check = PasswordCheck()
    assert await check.allows({"alice": ALICE}, "alice", b"wonder")
    assert not await check.allows({"alice": BOB}, "alice", b"wonder")
    assert not await check.allows({"bob": BOB}, "alice", b"wonder")


async def test_a_password_longer_than_bcrypt_looks_at() -> None:
    long = b"x" * 100
    users = {"alice": bcrypt.hashpw(long[:72], bcrypt.gensalt(4))}
    assert await PasswordCheck().allows(users, "alice", long)
    assert not await PasswordCheck().allows(users, "alice", b"y" * 100)


async def work(check: PasswordCheck, name: str, password: bytes) -> float:
    """Processor seconds that a check takes; unlike the clock they do not depend on what else the machine does."""
    started = time.process_time()
    await check.allows({"alice": SLOW}, name, password)
    return time.process_time() - started


async def test_a_right_password_is_slow_only_once_and_an_unknown_user_as_slow_as_a_wrong_password() -> None:
    check = PasswordCheck()
    first, again = await work(check, "alice", b"wonder"), await work(check, "alice", b"wonder")
    assert again < first / 5
    wrong = min([await work(check, "alice", b"x") for _ in range(3)])
    unknown = min([await work(check, "eve", b"x") for _ in range(3)])
    assert wrong / 2 < unknown < wrong * 2


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (basic(b"alice:wonder"), ("alice", b"wonder")),
        (basic(b"alice:a:b"), ("alice", b"a:b")),
        (basic(b"alice:\xff"), ("alice", b"\xff")),
        ("basic  " + base64.b64encode(b"a:b").decode(), ("a", b"b")),
        (basic(b"alice"), None),
        (basic(b"\xff:x"), None),
        ("Basic !!!", None),
        ("Basic ü", None),
        ("Bearer YTpi", None),
        ("", None),
    ],
)
def test_credentials_of_a_header(header: str, expected: tuple[str, bytes] | None) -> None:
    assert credentials(header) == expected
