"""Redis URLs: what is taken, what is refused, and that no password is ever shown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qobserve.config.redis_url import has_password, redacted, redis_url, url_database


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0",
        "redis://localhost",
        "REDISS://user:p%40ss@host:6380/3",
        "redis://[::1]:6379",
        "redis://:pw@host/",
        "redis://host?db=4",
        "unix:///run/redis.sock?db=2",
        "unix://user:pw@/run/redis.sock",
    ],
)
def test_a_good_url_stays_as_it_is(url: str) -> None:
    assert redis_url(url) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("localhost:6379", "has no scheme"),
        ("", "has no scheme"),
        ("http://host", '"http" is not a scheme that is supported'),
        ("redis+sentinel://host", "is not a scheme that is supported"),
        ("redis://host:port", "bad host or port"),
        ("redis://host:70000", "bad host or port"),
        ("redis://host:0", "bad port"),
        ("redis://[::1", "bad host or port"),
        ("redis://host/x", "bad database index"),
        ("redis://host/-1", "bad database index"),
        ("redis://host?db=x", "bad database index"),
        ("redis://host?ssl_cert_reqs=none", 'the parameter "ssl_cert_reqs"'),
        ("redis://:a#b@host", 'has a "#" or a space'),
        ("redis://ho st", 'has a "#" or a space'),
        ("unix://", "names no socket"),
    ],
)
def test_a_bad_url_is_told_why(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        redis_url(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:secret@host:1/2", "redis://user:***@host:1/2"),
        ("redis://:secret@host", "redis://:***@host"),
        ("redis://user@host", "redis://user@host"),
        ("redis://host", "redis://host"),
        ("redis://u:se@cr/et#@host", "redis://u:***@host"),
        ("unix://u:secret@/run/s?db=1", "unix://u:***@/run/s?db=1"),
        ("redis://host?password=secret&db=1", "redis://host?password=***&db=1"),
        ("redis://u:@host", "redis://u:***@host"),
    ],
)
def test_a_shown_url_hides_its_password(url: str, shown: str) -> None:
    assert redacted(url) == shown
    assert has_password(url) == (url != shown)


@given(st.text(), st.text())
def test_no_password_survives_in_what_is_shown_or_said(before: str, after: str) -> None:
    url = f"redis://user:{before}S3CR3T{after}@host:6379/0"
    assert redacted(url) == "redis://user:***@host:6379/0"
    try:
        redis_url(url)
    except ValueError as exc:
        assert "S3CR3T" not in str(exc)  # noqa: PT017 - most passwords are fine and raise nothing


@pytest.mark.parametrize(
    ("url", "database"),
    [("redis://h", 0), ("redis://h/3", 3), ("redis://h/3?db=5", 5), ("unix:///run/7?db=2", 2), ("unix:///run/7", 0)],
)
def test_the_database_of_a_url(url: str, database: int) -> None:
    assert url_database(url) == database
