"""What messages show of a text that a person wrote, and that no password is ever in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.config.redis_url import redis_url
from qobserve.config.shown import has_password, quoted_name, redacted, redacted_address


@pytest.mark.parametrize(
    ("url", "shown", "password"),
    [
        ("redis://user:secret@host:1/2", "redis://user:***@host:1/2", True),
        ("redis://:secret@host", "redis://:***@host", True),
        ("redis://secret@host", "redis://***@host", False),
        ("redis://host", "redis://host", False),
        ("redis://u:se@cr/et#@host", "redis://u:***@host", True),
        ("redis://u/x:secret@host", "redis://***@host", True),
        ("unix://u:secret@/run/s?db=1", "unix://u:***@/run/s?db=1", True),
        ("unix:///run/a:b?db=1", "unix:///run/a:b?db=1", False),
        ("redis://host?password=secret&db=1", "redis://host?password=***&db=1", True),
        ("redis://u:@host", "redis://u:***@host", True),
        ("redis://u:secret", "redis://u:***", False),
        ("redis://u:se/cret", "redis://u:***", False),
        ("redis://u:123456", "redis://u:***", False),
        ("redis://host:70000/1", "redis://host:70000/1", False),
        ("redis://[::1]:6379", "redis://[::1]:6379", False),
        ("u:secret@h:1", "***@h:1", True),
        ("secret@h", "***@h", False),
    ],
)
def test_a_shown_url_hides_its_password(url: str, shown: str, password: bool) -> None:  # noqa: FBT001 - a row of the table
    assert (redacted(url), has_password(url)) == (shown, password)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("h:1", "h:1"),
        ("h:", "h:"),
        (":10538", ":10538"),
        ("h:1/2", "h:1/2"),
        ("[::1]:80", "[::1]:80"),
        ("::1", "::1"),
        ("u:secret", "u:***"),
        ("redis:/u:secret", "redis:***"),
        ("//u:secret", "//u:***"),
        ("u:secret@h:secret", "***@h:***"),
    ],
)
def test_a_shown_address_hides_what_is_no_port(text: str, shown: str) -> None:
    assert redacted_address(text) == shown


def test_an_at_sign_in_a_name_is_no_password() -> None:
    assert quoted_name("/run/redis@1/ca.pem") == '"/run/redis@1/ca.pem"'
    assert quoted_name("redis://u:secret@h") == '"redis://u:***@h"'


@given(st.text(), st.text())
def test_no_password_survives_in_what_is_shown_or_said(before: str, after: str) -> None:
    url = f"redis://user:{before}S3CR3T{after}@host:6379/0"
    assert redacted(url) == "redis://user:***@host:6379/0"
    try:
        redis_url(url)
    except ValueError as exc:
        assert "S3CR3T" not in str(exc)  # noqa: PT017 - most passwords are fine and raise nothing
